#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Normalizes a text before it is split into words, as the `normalizer` of a tokenizer.json
// specifies: Unicode normal forms, lower case, stripping of accents and spaces, replacements,
// SentencePiece's table, BERT's cleaning.
//
//   std::string text = "Où est-ce?";
//   Normalizer::bert({}).apply(text);   // "ou est-ce?"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace attnscope {

class JsonField;

/// The defaults are those of bert-base-uncased. The names are Hugging Face's.
struct TextRules {
  bool clean_text = true;            // removes control characters, white space becomes a space
  bool handle_chinese_chars = true;  // each ideograph is a separate word
  bool strip_accents = true;         // decomposes, then drops non-spacing marks
  bool lowercase = true;
};

/// Reads a BertNormalizer, or a tokenizer_config.json, which has another name for the second rule.
[[nodiscard]] TextRules read_text_rules(const JsonField& object, const char* handle_chinese_chars,
                                        const char* lowercase);

class Normalizer {
 public:
  Normalizer() = default;  // leaves texts as they are
  [[nodiscard]] static Normalizer bert(const TextRules& rules);
  /// null: leaves texts as they are. An unknown type is an error of its field; without a type, the
  /// fields determine it.
  [[nodiscard]] static Normalizer read(const JsonField& object);

  /// Normalizes UTF-8 in place. Returns false if the beginning of the text was removed; an error if
  /// a pattern exceeds its limits (text_pattern.h).
  [[nodiscard]] Result<bool> apply(std::string& utf8) const;

 private:
  using Step = std::function<Result<bool>(std::string&)>;
  void add(const JsonField& object);
  /// Accounts for a step that lengthens a text at most `times` times.
  void grows(std::size_t times, const JsonField& object);

  std::vector<Step> steps_;
  std::size_t growth_ = 1;  // product over all steps
};

}  // namespace attnscope
