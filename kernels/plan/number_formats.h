#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16 as bit patterns, without LibTorch: reading is exact, writing rounds to the
// nearest, ties to even.

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/plan/tensor.h"

namespace attnscope {

[[nodiscard]] inline float float_from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// Has no branches, so that loops over rows are vectorised.
[[nodiscard]] inline float float_from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
  // The product moves the exponent's bias from 15 to 127 and normalises subnormals.
  const float moved = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t special = magnitude | 0x7F800000U;  // infinity or NaN
  return std::bit_cast<float>(
      sign | (magnitude >= 0x0F800000U ? special : std::bit_cast<std::uint32_t>(moved)));
}

[[nodiscard]] inline std::uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

[[nodiscard]] inline std::uint16_t float16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // >= 65520
  if (magnitude < 0x38800000U) {  // subnormal: adding 0.5 leaves the rounded bits at the bottom
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rebiased = magnitude - 0x38000000U;
  return static_cast<std::uint16_t>(sign | ((rebiased + 0xFFFU + ((rebiased >> 13U) & 1U)) >> 13U));
}

/// Value `index` of an array of the dtype.
[[nodiscard]] inline float read_value(const std::byte* data, DType dtype, std::int64_t index) {
  if (dtype == DType::float32) return reinterpret_cast<const float*>(data)[index];
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(data)[index];
  return dtype == DType::float16 ? float_from_float16(bits) : float_from_bfloat16(bits);
}

inline void write_value(std::byte* data, DType dtype, std::int64_t index, float value) {
  if (dtype == DType::float32) {
    reinterpret_cast<float*>(data)[index] = value;
  } else {
    reinterpret_cast<std::uint16_t*>(data)[index] =
        dtype == DType::float16 ? float16_from_float(value) : bfloat16_from_float(value);
  }
}

}  // namespace attnscope
