#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a tokenizer.json searches texts for: {"String": "--"} or {"Regex": "\\p{L}+"}.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

class JsonField;

/// A stretch of a text, in bytes.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

class TextPattern {
 public:
  /// Fields that hold no pattern, an empty one or a regular expression that ICU does not read are
  /// problems of theirs.
  [[nodiscard]] static TextPattern read(const JsonField& said);

  [[nodiscard]] bool is_regex() const { return regex_ != nullptr; }
  /// The matches in order; they do not overlap. Of a regular expression that takes very many steps
  /// the rest of the text has none.
  [[nodiscard]] std::vector<TextSpan> matches(std::string_view utf8) const;

 private:
  struct Regex;
  std::string string_;
  std::shared_ptr<const Regex> regex_;
};

}  // namespace attnscope
