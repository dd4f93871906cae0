#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checksum of consecutive parts, 8 bytes at a time. Every step is invertible, so a single changed
// word always changes the sum; and every bit of a word affects all later bits, so that several
// changes cancel out only by chance. It does not protect against deliberate forgery. A sum can be
// stored and continued later.
//
//   RunningSum sum;
//   sum.add(row);
//   RunningSum same(sum.value());
//
// Files contain these values: a change to the algorithm needs a new version of their format.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace attnscope {

class RunningSum {
 public:
  explicit RunningSum(std::uint64_t before = 0) : state_(before) {}

  void add(std::uint64_t word) { state_ = step(state_, word); }
  /// Adds the bytes and their number, so the sum depends on the borders of parts.
  void add(std::span<const std::byte> bytes) {
    add(static_cast<std::uint64_t>(bytes.size()));
    if (bytes.size() >= long_part) bytes = add_blocks(bytes);
    while (!bytes.empty()) bytes = bytes.subspan(add_word(bytes, state_));
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  static constexpr std::size_t lanes = 4, long_part = 256;

  /// SplitMix64's finalizer (Steele et al., 2014), which is a bijection.
  static std::uint64_t step(std::uint64_t state, std::uint64_t word) {
    std::uint64_t z = (state ^ word) + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  static std::size_t add_word(std::span<const std::byte> bytes, std::uint64_t& state) {
    std::uint64_t word = 0;
    const std::size_t taken = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
    std::memcpy(&word, bytes.data(), taken);
    state = step(state, word);
    return taken;
  }
  /// Adds four independent words at a time, at the speed of memory. Returns the remaining bytes.
  std::span<const std::byte> add_blocks(std::span<const std::byte> bytes) {
    std::array<std::uint64_t, lanes> states{};
    for (std::size_t lane = 0; lane < lanes; ++lane) states[lane] = step(state_, lane);
    constexpr std::size_t block = lanes * sizeof(std::uint64_t);
    for (; bytes.size() >= block; bytes = bytes.subspan(block)) {
      for (std::size_t lane = 0; lane < lanes; ++lane)
        add_word(bytes.subspan(lane * sizeof(std::uint64_t)), states[lane]);
    }
    for (const std::uint64_t state : states) add(state);
    return bytes;
  }

  std::uint64_t state_;
};

}  // namespace attnscope
