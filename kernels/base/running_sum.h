#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checksum of parts that come one after the other, 8 bytes at a time: every step can be undone,
// so a single changed word always changes it. It can be kept and gone on with.
//
//   RunningSum sum;
//   sum.add(row);
//   RunningSum same(sum.value());

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace attnscope {

class RunningSum {
 public:
  explicit RunningSum(std::uint64_t before = 0) : state_(before) {}

  void add(std::uint64_t word) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    constexpr int turn = 29;
    state_ = std::rotl((state_ ^ word) * odd + 1, turn);
  }
  /// With their length: where a part ends is of the sum, too.
  void add(std::span<const std::byte> bytes) {
    add(static_cast<std::uint64_t>(bytes.size()));
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t taken = std::min(sizeof(word), bytes.size());
      std::memcpy(&word, bytes.data(), taken);
      add(word);
      bytes = bytes.subspan(taken);
    }
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace attnscope
