#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <string_view>

namespace attnscope {

/// The text as one word for a shell, unquoted if it has no special characters.
[[nodiscard]] inline std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace attnscope
