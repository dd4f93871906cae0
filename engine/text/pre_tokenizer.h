#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a text falls into the words that a model makes pieces of, as the `pre_tokenizer` of a
// tokenizer.json says.
//
//   const std::vector<std::string_view> words =
//       PreTokenizer::bert().cut("re-ranking", true).words();   // "re" "-" "ranking"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/text_pattern.h"
#include "kernels/base/result.h"

namespace attnscope {

class JsonField;

/// A text and the stretches of it that are its words, in order and none of them empty.
struct TextWords {
  std::string text;
  std::vector<TextSpan> spans;
  bool starts = true;  // the text is the beginning of one that was given

  [[nodiscard]] std::string_view word(const TextSpan& span) const {
    return std::string_view(text).substr(span.begin, span.end - span.begin);
  }
  [[nodiscard]] std::vector<std::string_view> words() const;
};

class PreTokenizer {
 public:
  PreTokenizer() = default;  // the whole text is one word
  [[nodiscard]] static PreTokenizer bert();
  /// null: the whole text is one word. A type that is not known is a problem of its field.
  [[nodiscard]] static PreTokenizer read(const JsonField& said);

  /// `starts`: nothing stands before the text. An error where a pattern does not get through
  /// (text_pattern.h).
  [[nodiscard]] Result<TextWords> cut(std::string utf8, bool starts) const;
  /// The last step is ByteLevel, and words are the bytes themselves, for which tokenizer.json has
  /// characters of their own.
  [[nodiscard]] bool gives_bytes() const { return gives_bytes_; }
  /// From now on words have these characters.
  void spell_bytes();

 private:
  using Step = std::function<Status(TextWords&)>;
  void add(const JsonField& said);
  template <typename Change>
  void add_step(Change change);
  void add_byte_level(const JsonField& said);
  void add_metaspace(const JsonField& said);
  /// A step that makes a text so many times as long at most.
  void grows(std::size_t times, const JsonField& said);

  std::vector<Step> steps_;
  bool gives_bytes_ = false;
  std::size_t growth_ = 1;  // of all steps together
};

}  // namespace attnscope
