#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// CUDA's 16-bit floating-point types (cuda_fp16.h, cuda_bf16.h) and the conversions that kernels
// use. Conversions to 16 bits round to nearest, ties to even, as the instructions do.

#include <bit>
#include <cmath>
#include <cstdint>

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
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

namespace attnscope::on_host {

/// By the table of all 65,536 numbers.
[[nodiscard]] float half_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t half_bits(float x);

[[nodiscard]] inline std::uint16_t bfloat16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace attnscope::on_host

inline float __half2float(__half x) {
  return attnscope::on_host::half_to_float(x.bits);
}
inline __half __float2half_rn(float x) {
  return {attnscope::on_host::half_bits(x)};
}
inline __half __float2half(float x) {
  return __float2half_rn(x);
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {attnscope::on_host::bfloat16_bits(x)};
}
inline __nv_bfloat16 __float2bfloat16(float x) {
  return __float2bfloat16_rn(x);
}

inline __half2 __floats2half2_rn(float low, float high) {
  return {__float2half_rn(low), __float2half_rn(high)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
}
inline __half2 __halves2half2(__half low, __half high) {
  return {low, high};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
inline __half __low2half(__half2 pair) {
  return pair.x;
}
inline __half __high2half(__half2 pair) {
  return pair.y;
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 pair) {
  return pair.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 pair) {
  return pair.y;
}
inline float __low2float(__half2 pair) {
  return __half2float(pair.x);
}
inline float __high2float(__half2 pair) {
  return __half2float(pair.y);
}
inline float __low2float(__nv_bfloat162 pair) {
  return __bfloat162float(pair.x);
}
inline float __high2float(__nv_bfloat162 pair) {
  return __bfloat162float(pair.y);
}
