#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the three types on their way to float32 and back, without branches, so that the
// compiler can take several at once.

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "kernels/base/number_formats.h"

namespace attnscope::longformer_banded {

struct Float16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

inline float to_float(float x) {
  return x;
}
inline float to_float(Bfloat16 x) {
  return float_from_bfloat16(x.bits);
}
inline float to_float(Float16 x) {
  const std::uint32_t sign = (x.bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (x.bits & 0x7FFFU) << 13U;
  // The product moves the exponent's bias from 15 to 127 and normalises subnormals.
  const float moved = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t special = magnitude | 0x7F800000U;  // infinity or NaN
  return std::bit_cast<float>(
      sign | (magnitude >= 0x0F800000U ? special : std::bit_cast<std::uint32_t>(moved)));
}

template <typename T>
T from_float(float x);
template <>
inline float from_float<float>(float x) {
  return x;
}
template <>
inline Float16 from_float<Float16>(float x) {
  return {float16_from_float(x)};
}
template <>
inline Bfloat16 from_float<Bfloat16>(float x) {
  return {bfloat16_from_float(x)};
}

/// e^x for x <= 0, infinity included; NaN stays NaN. Within 2 units of the last place: x = n ln 2 +
/// r with |r| <= ln 2 / 2, and the series of e^r is cut off after r^7 / 7!, below 6e-9 of it.
inline float exponential(float x) {
  constexpr float whole = 0x1.8p23F;  // added to a small number, it rounds it to an integer
  constexpr float ln_2_high = 0x1.62ep-1F,
                  ln_2_low = 0x1.0bfbe8p-15F;  // n times the first is exact
  const float shifted = x * 0x1.715476p0F + whole;
  const float n = shifted - whole;
  const float r = (x - n * ln_2_high) - n * ln_2_low;
  float series = 1.0F / 5040;
  for (const float coefficient : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    series = series * r + coefficient;
  }
  const std::uint32_t exponent =
      (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(whole) + 127U) << 23U;
  const float power = series * std::bit_cast<float>(exponent);
  return x < -87.0F ? 0.0F : power;  // where 2^n is no normal number any more
}

}  // namespace attnscope::longformer_banded
