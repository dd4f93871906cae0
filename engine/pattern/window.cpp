// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/window.h"

#include <charconv>

#include "base/sentences.h"

namespace attnscope {

Result<Window> parse_window(std::string_view text) {
  if (text == "inf") return Window::infinite();
  std::int64_t tokens = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  if (error == std::errc::result_out_of_range) {
    return fail("window '{}' is too large; give \"inf\" for the whole subsequence",
                in_a_sentence(text));
  }
  if (error != std::errc() || end != text.data() + text.size() || tokens < 0) {
    return fail("window '{}' is neither a number of tokens from 0 on nor \"inf\"",
                in_a_sentence(text));
  }
  return Window::of(tokens);
}

}  // namespace attnscope
