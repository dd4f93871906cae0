#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Splits a text into the words that a subword model tokenizes, as the `pre_tokenizer` of a
// tokenizer.json specifies.
//
//   const std::vector<std::string_view> words =
//       PreTokenizer::bert().cut("re-ranking", true).words();   // "re" "-" "ranking"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/text_pattern.h"

namespace attnscope {

class JsonField;

/// A text and the spans of its words, in order and not empty.
struct TextWords {
  std::string text;
  std::vector<TextSpan> spans;
  bool starts = true;  // the text begins the original text

  [[nodiscard]] std::string_view word(const TextSpan& span) const {
    return std::string_view(text).substr(span.begin, span.end - span.begin);
  }
  [[nodiscard]] std::vector<std::string_view> words() const;
};

class PreTokenizer {
 public:
  PreTokenizer() = default;  // the whole text is one word
  [[nodiscard]] static PreTokenizer bert();
  /// null: the whole text is one word. An unknown type is an error of its field.
  [[nodiscard]] static PreTokenizer read(const JsonField& object);

  /// `starts`: the text begins the original text. An error if a pattern exceeds its limits
  /// (text_pattern.h).
  [[nodiscard]] Result<TextWords> cut(std::string utf8, bool starts) const;
  /// Whether the last step is ByteLevel and words are raw bytes instead of the characters that
  /// tokenizer.json uses for them.
  [[nodiscard]] bool gives_bytes() const { return gives_bytes_; }
  /// Makes `cut` return these characters from now on.
  void spell_bytes();

 private:
  using Step = std::function<Status(TextWords&)>;
  void add(const JsonField& object);
  template <typename Change>
  void add_step(Change change);
  void add_byte_level(const JsonField& object);
  void add_metaspace(const JsonField& object);
  /// Accounts for a step that lengthens a text at most `times` times.
  void grows(std::size_t times, const JsonField& object);

  std::vector<Step> steps_;
  bool gives_bytes_ = false;
  std::size_t growth_ = 1;  // product over all steps
};

}  // namespace attnscope
