#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// FNV-1a, 64 bit, over values in a canonical form. Every step is invertible, so a single changed
// byte always changes the result.
//
// The fingerprint of stored rows (Printed in fields.h) is over every listed value: a byte for its
// type (0 NULL, 1 INTEGER, 2 REAL, 3 TEXT, 4 BLOB), then an integer as 8 bytes, least significant
// first; a real as its IEEE 754 bits, in the same order; a text as its length (an integer) and its
// bytes in UTF-8.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace attnscope {

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

}  // namespace attnscope
