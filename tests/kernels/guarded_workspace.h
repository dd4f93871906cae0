#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A kernel's workspace of exactly the size it asked for, full of NaN and between guards.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace attnscope::testing {

class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(std::int64_t bytes)
      : memory_(static_cast<std::size_t>(bytes + 2 * guard_bytes), guard) {
    std::ranges::fill(this->bytes(), std::byte{0xff});  // as float32 a NaN
  }
  [[nodiscard]] std::span<std::byte> bytes() {
    return std::span(memory_).subspan(guard_bytes, memory_.size() - 2 * guard_bytes);
  }
  [[nodiscard]] std::span<float> floats() {
    return {reinterpret_cast<float*>(bytes().data()), bytes().size() / sizeof(float)};
  }
  [[nodiscard]] bool guards_are_intact() const {
    const auto is_guard = [](std::byte b) { return b == guard; };
    return std::all_of(memory_.begin(), memory_.begin() + guard_bytes, is_guard) &&
           std::all_of(memory_.end() - guard_bytes, memory_.end(), is_guard);
  }

 private:
  /// No multiple of a cache line, so that the workspace begins unaligned.
  static constexpr std::int64_t guard_bytes = 272;
  static constexpr std::byte guard{0xa5};
  std::vector<std::byte> memory_;
};

}  // namespace attnscope::testing
