#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Two checksums of 64 bits that detect damage and accidental changes, not deliberate forgery:
// Fingerprint for a few values, RunningSum for large amounts of data. Databases and files contain
// their values: a change to either algorithm needs a new version of those formats.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace attnscope {

/// FNV-1a over values in a canonical form. Every step is invertible, so a single changed byte
/// always changes the result.
///
/// The fingerprint of stored rows (Printed in fields.h) covers every listed value: a byte for its
/// type (0 NULL, 1 INTEGER, 2 REAL, 3 TEXT, 4 BLOB), then an integer as 8 bytes, least significant
/// first; a real as its IEEE 754 bits, in the same order; a text as its length (an integer) and its
/// bytes in UTF-8.
class Fingerprint {
 public:
  void byte(std::uint8_t value) { state_ = (state_ ^ value) * 0x100000001B3ULL; }
  void integer(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(bits >> shift));
  }
  void real(double value) {
    if (std::isnan(value)) {
      integer(0x7FF8000000000000);
    } else {
      integer(std::bit_cast<std::int64_t>(value == 0 ? 0.0 : value));
    }
  }
  void text(std::string_view value) {
    integer(static_cast<std::int64_t>(value.size()));
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  /// The value as stored in the database.
  [[nodiscard]] std::int64_t value() const { return std::bit_cast<std::int64_t>(state_); }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

/// A checksum of consecutive parts, 8 bytes at a time. Every step is invertible, so a single
/// changed word always changes the sum; and every bit of a word affects all later bits, so that
/// several changes cancel out only by chance. A sum can be stored and continued later:
///
///   RunningSum sum;
///   sum.add(row);
///   RunningSum same(sum.value());
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
