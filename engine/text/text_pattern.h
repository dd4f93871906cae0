#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a tokenizer.json searches texts for: {"String": "--"} or {"Regex": "\\p{L}+"}. Regular
// expressions are Oniguruma's, as in Hugging Face's `tokenizers`.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

class JsonField;

/// A stretch of a text, in bytes.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

class TextPattern {
 public:
  /// Fields that hold no pattern, or an expression that Oniguruma does not read, are problems of
  /// theirs.
  [[nodiscard]] static TextPattern read(const JsonField& said);

  /// The matches in order; they do not overlap. The text is UTF-8. An error where an expression
  /// takes more steps or memory than Oniguruma is allowed.
  [[nodiscard]] Result<std::vector<TextSpan>> matches(std::string_view utf8) const;

 private:
  struct Regex;
  std::string string_;
  std::shared_ptr<const Regex> regex_;
};

}  // namespace attnscope
