#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Conversions of the three types in all kernels: sums are float32, a result is rounded to nearest.
// CUDA's conversions in use: __float2half_rn, __float2bfloat16_rn, __half2float, __bfloat162float,
// __floats2half2_rn, __floats2bfloat162_rn.

#include <cstring>
#include <type_traits>

#include "kernels/cuda/ptx.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr float log2_e = 1.4426950408889634f;
inline constexpr float ln_2 = 0.6931471805599453f;
inline constexpr float minus_infinity = -__builtin_inff();

template <DType type>
struct NumberOf {
  using T = std::conditional_t<type == DType::float32, float,
                               std::conditional_t<type == DType::float16, __half, __nv_bfloat16>>;
};

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
__device__ inline T from_float(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

/// A pair of 16-bit numbers, `low` in the low half.
template <typename T>
__device__ inline std::uint32_t pair_of(float low, float high) {
  const auto pair = [&] {
    if constexpr (std::is_same_v<T, __half>) {
      return __floats2half2_rn(low, high);
    } else {
      return __floats2bfloat162_rn(low, high);
    }
  }();
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// x with the bits of `signs` flipped.
__device__ inline float flipped(float x, std::uint32_t signs) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  bits ^= signs;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// A mask of the halves of `pair` that are not finite.
template <typename T>
__device__ std::uint32_t non_finite_halves(std::uint32_t pair) {
  constexpr std::uint32_t low = std::is_same_v<T, __half> ? 0x7c00u : 0x7f80u;
  constexpr std::uint32_t high = low << 16;
  return ((pair & low) == low ? 0x0000ffffu : 0u) | ((pair & high) == high ? 0xffff0000u : 0u);
}

}  // namespace attnscope::cuda
