#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// CUDA's 16-bit floating-point types (cuda_fp16.h, cuda_bf16.h) and the conversions that kernels
// use, with the rounding of the instructions; tests/attention compares number_formats.h with
// LibTorch.

#include <cstdint>

#include "kernels/plan/number_formats.h"

struct alignas(2) __half {
  std::uint16_t bits;
};
struct alignas(2) __nv_bfloat16 {
  std::uint16_t bits;
};
struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using half = __half;
using nv_bfloat16 = __nv_bfloat16;

inline float __half2float(__half x) {
  return attnscope::float_from_float16(x.bits);
}
inline __half __float2half_rn(float x) {
  return {attnscope::float16_from_float(x)};
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return attnscope::float_from_bfloat16(x.bits);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {attnscope::bfloat16_from_float(x)};
}

inline __half2 __floats2half2_rn(float low, float high) {
  return {__float2half_rn(low), __float2half_rn(high)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
}
