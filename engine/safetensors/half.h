#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// IEEE half precision from single, by their bits.

#include <bit>
#include <cmath>
#include <cstdint>

namespace attnscope {

/// Rounded to the nearest, ties to even; what is too large becomes infinite.
[[nodiscard]] inline std::uint16_t half_of(float value) {
  constexpr std::uint32_t infinite = 0x7F800000, two_to_16 = 0x47800000, least_normal = 0x38800000;
  constexpr std::uint32_t exponents_apart = 0x38000000;  // (127 - 15) << 23
  constexpr float subnormals = 0x1p24F;                  // in one
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 16U) & 0x8000U;
  const std::uint32_t bits = all & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (bits > infinite) {
    half = 0x7E00;  // not a number
  } else if (bits >= two_to_16) {
    half = 0x7C00;
  } else if (bits < least_normal) {
    half = static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(bits) * subnormals));
  } else {
    half = (bits + 0xFFFU + ((bits >> 13U) & 1U) - exponents_apart) >> 13U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace attnscope
