#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// 16-bit numbers in pairs, as the tensor cores take them. CUDA's conversions in use:
// __floats2half2_rn, __floats2bfloat162_rn.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numbers.cuh"

#ifdef ATTNSCOPE_CUDA_ON_HOST
#define __maxnreg__(registers)
#endif

namespace attnscope::cuda {

/// A pair of 16-bit numbers, `low` in the low half.
template <typename T>
__device__ std::uint32_t pair_of(float low, float high);
template <>
__device__ inline std::uint32_t pair_of<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}
template <>
__device__ inline std::uint32_t pair_of<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

template <typename T>
struct PairBits;
template <>
struct PairBits<__half> {
  static constexpr std::uint32_t exponent = 0x7c00u;
};
template <>
struct PairBits<__nv_bfloat16> {
  static constexpr std::uint32_t exponent = 0x7f80u;
};

/// A mask of the halves of `pair` that hold no finite number.
template <typename T>
__device__ std::uint32_t non_finite_halves(std::uint32_t pair) {
  constexpr std::uint32_t low = PairBits<T>::exponent;
  constexpr std::uint32_t high = low << 16;
  return ((pair & low) == low ? 0x0000ffffu : 0u) | ((pair & high) == high ? 0xffff0000u : 0u);
}

}  // namespace attnscope::cuda
