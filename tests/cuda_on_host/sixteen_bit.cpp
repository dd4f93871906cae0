// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/sixteen_bit.h"

#include <algorithm>
#include <vector>

namespace attnscope::on_host {

namespace {

[[nodiscard]] float value_of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VALF : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Made before the program begins: inside a kernel it would count as the kernel's own accesses.
const std::vector<float> values_of_halves = [] {
  std::vector<float> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = value_of_half(static_cast<std::uint16_t>(i));
  }
  return all;
}();

}  // namespace

float half_to_float(std::uint16_t bits) {
  return values_of_halves[bits];
}

std::uint16_t half_bits(float x) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const float magnitude = std::fabs(x);
  if (std::isnan(x)) return 0x7fff;
  if (magnitude == 0) return sign;
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00);
  // Multiples of the last place at x's exponent, or at that of the smallest normal number.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int last_place = std::max(exponent - 11, -24);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -last_place)));
  // The carry of a fraction that rounds up to 2048 goes into the exponent by the addition.
  const int bits = last_place == -24 ? steps : ((last_place + 24) << 10) + steps;
  return static_cast<std::uint16_t>(sign | bits);
}

}  // namespace attnscope::on_host
