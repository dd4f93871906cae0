#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is done to a text before it is cut into words, as the `normalizer` of a tokenizer.json says:
// Unicode's forms, lower case, accents and spaces stripped, replacements, SentencePiece's table,
// BERT's cleaning.
//
//   std::string text = "Où est-ce?";
//   Normalizer::bert({}).apply(text);   // "ou est-ce?"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

class JsonField;

/// By default those of bert-base-uncased. The names are Hugging Face's.
struct TextRules {
  bool clean_text = true;            // control characters go, white space becomes a space
  bool handle_chinese_chars = true;  // ideographs are words of their own
  bool strip_accents = true;         // decompose, then drop non-spacing marks
  bool lowercase = true;
};

/// Of a BertNormalizer, or of a tokenizer_config.json, which names the second one otherwise.
[[nodiscard]] TextRules read_text_rules(const JsonField& said, const char* handle_chinese_chars,
                                        const char* lowercase);

class Normalizer {
 public:
  Normalizer() = default;  // leaves texts as they are
  [[nodiscard]] static Normalizer bert(const TextRules& rules);
  /// null: leaves texts as they are. A type that is not known is a problem of its field; without
  /// one, its fields tell what it is.
  [[nodiscard]] static Normalizer read(const JsonField& said);

  /// Of UTF-8, which it stays. False when what the text began with is gone; an error where a
  /// pattern does not get through (text_pattern.h).
  [[nodiscard]] Result<bool> apply(std::string& utf8) const;

 private:
  using Step = std::function<Result<bool>(std::string&)>;
  void add(const JsonField& said);
  /// Of a step that makes a byte so many at most.
  void grows(std::size_t times, const JsonField& said);

  std::vector<Step> steps_;
  std::size_t growth_ = 1;  // of all steps together
};

}  // namespace attnscope
