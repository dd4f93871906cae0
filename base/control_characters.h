#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tabs, line ends and other characters that a terminal or a table interprets as control codes.

#include <algorithm>
#include <string_view>

namespace attnscope {

/// Whether the text has an ASCII control character (NUL, tab, line ends, ESC, DEL and others) that
/// is not in `allowed`.
[[nodiscard]] inline bool has_control_character(std::string_view text,
                                                std::string_view allowed = {}) {
  constexpr unsigned char first_visible = 0x20, del = 0x7f;
  return std::ranges::any_of(text, [allowed](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < first_visible || byte == del) && allowed.find(c) == std::string_view::npos;
  });
}

}  // namespace attnscope
