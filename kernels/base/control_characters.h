#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tabs, line ends and what else a terminal or a table takes for an order, not for a text.

#include <algorithm>
#include <string_view>

namespace attnscope {

/// Of ASCII: NUL, tab, line ends, ESC, DEL and their like.
[[nodiscard]] inline bool has_control_character(std::string_view text) {
  constexpr unsigned char first_visible = 0x20, del = 0x7f;
  return std::ranges::any_of(
      text, [](unsigned char byte) { return byte < first_visible || byte == del; });
}

}  // namespace attnscope
