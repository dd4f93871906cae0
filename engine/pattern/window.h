#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One-sided window width w: token i attends to i-w ... i+w of its own subsequence, 2w+1 tokens in
// total, cut off (never shifted) at the ends. w = 0 is the token itself, w = inf is the whole
// subsequence.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace attnscope {

class Window {
 public:
  [[nodiscard]] static Window of(std::int64_t tokens) { return Window(tokens); }
  [[nodiscard]] static Window infinite() { return Window(-1); }
  [[nodiscard]] bool is_infinite() const { return tokens_ < 0; }
  /// Only for finite windows.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// "4" or "inf".
  [[nodiscard]] std::string text() const {
    return is_infinite() ? std::string("inf") : std::to_string(tokens_);
  }
  friend bool operator==(Window, Window) = default;

 private:
  explicit Window(std::int64_t tokens) : tokens_(tokens) {}
  std::int64_t tokens_;
};

/// Parses "4", "0" or "inf"; returns an error for anything else.
[[nodiscard]] Result<Window> parse_window(std::string_view text);

}  // namespace attnscope
