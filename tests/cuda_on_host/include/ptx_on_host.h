#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The counterpart of kernels/cuda/ptx.h: each function with the meaning that the PTX ISA gives the
// instruction. Included by ptx.h in its place.
//
// Tensor-core instructions, executed for a whole warp when its last lane arrives. The positions of
// the elements of a fragment in its matrix are from two sources:
//
//   PTX ISA 9, section 9.7.14.5.8, "Matrix fragments for mma.m16n8k16 with floating point type":
//     the rows and columns given there for lane = 4 groupID + threadID_in_group
//   CuTe, include/cute/atom/mma_traits_sm80.hpp, MMA_Traits<SM80_16x8x16_F32F16F16F32_TN>: the same
//     positions as layouts, with which fragments_test.cpp compares this file

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tests/cuda_on_host/cuda_on_host.h"

namespace attnscope::on_host {

struct Place {
  int row, column;
};

/// The position of element `i` of the fragment of a lane; elements 2 r and 2 r + 1 are register r,
/// low half first.
[[nodiscard]] constexpr Place place_in_a(int lane, int i) {  // [16 x 16], i < 8
  return {lane / 4 + (i / 2 % 2) * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
}
[[nodiscard]] constexpr Place place_in_b(int lane, int i) {  // [16 x 8], i < 4
  return {lane % 4 * 2 + i % 2 + i / 2 * 8, lane / 4};
}
[[nodiscard]] constexpr Place place_in_c(int lane, int i) {  // [16 x 8], i < 4
  return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}

}  // namespace attnscope::on_host

namespace attnscope::cuda {

inline std::byte* dynamic_shared() {
  return on_host::shared_memory();
}

template <typename T>
void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
template <>
void multiply_add<__half>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                          std::uint32_t b1);
template <>
void multiply_add<__nv_bfloat16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                 std::uint32_t b1);

/// ex2.approx.ftz.f32: numbers below the smallest normal one, given or computed, are 0.
[[nodiscard]] float exp2_approx(float x);
inline float log2_approx(float x) {
  return std::log2(x);
}
inline float reciprocal_approx(float x) {
  return 1.0f / x;
}

template <typename X>
X opaque(X x) {
  return x;
}
template <typename Byte>
Byte* row_at(Byte* base, int row, int stride) {
  return base + std::int64_t{row} * stride;
}

/// fma.rn.f16x2 and fma.rn.bf16x2 of `pair`, 0 and `trace`, itself 0 or NaN in each half.
template <typename T>
[[nodiscard]] constexpr std::uint32_t trace_non_finite(std::uint32_t pair, std::uint32_t trace) {
  constexpr std::uint32_t exponent = std::is_same_v<T, __half> ? 0x7c00 : 0x7f80;  // of infinity
  constexpr std::uint32_t not_a_number = 0x7fff;
  if ((pair & exponent) == exponent) trace |= not_a_number;
  if ((pair >> 16 & exponent) == exponent) trace |= not_a_number << 16;
  return trace;
}

}  // namespace attnscope::cuda
