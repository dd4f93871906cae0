#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The search patterns of a tokenizer.json: {"String": "--"} or {"Regex": "\\p{L}+"}. Regular
// expressions use Oniguruma, as in Hugging Face's `tokenizers`.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attnscope {

class JsonField;

/// A range of a text, in bytes.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

class TextPattern {
 public:
  /// A missing pattern, or an expression that Oniguruma rejects, is an error of the field.
  [[nodiscard]] static TextPattern read(const JsonField& object);

  /// The matches in order, without overlap. The text is UTF-8. An error if an expression exceeds
  /// Oniguruma's limits of steps or memory.
  [[nodiscard]] Result<std::vector<TextSpan>> matches(std::string_view utf8) const;

 private:
  struct Regex;
  std::string string_;
  std::shared_ptr<const Regex> regex_;
};

}  // namespace attnscope
