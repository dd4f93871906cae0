#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The counterpart of kernels/cuda/ptx.h: each function with the meaning that the PTX ISA gives the
// instruction, lane by lane. Included by ptx.h in its place.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_host/cuda_on_host.h"
#include "tests/cuda_on_host/fragments.h"

namespace attnscope::cuda {

inline std::byte* dynamic_shared() {
  return on_host::shared_memory();
}

template <typename T>
void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
template <>
inline void multiply_add<__half>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                 std::uint32_t b1) {
  on_host::multiply_add_half(c, a, b0, b1);
}
template <>
inline void multiply_add<__nv_bfloat16>(float (&c)[4], const std::uint32_t (&a)[4],
                                        std::uint32_t b0, std::uint32_t b1) {
  on_host::multiply_add_bfloat16(c, a, b0, b1);
}

inline float exp2_approx(float x) {
  return on_host::exp2_flushed(x);
}
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

template <typename T>
std::uint32_t trace_non_finite(std::uint32_t pair, std::uint32_t trace);
template <>
inline std::uint32_t trace_non_finite<__half>(std::uint32_t pair, std::uint32_t trace) {
  return on_host::trace_non_finite(pair, trace, 0x7c00);
}
template <>
inline std::uint32_t trace_non_finite<__nv_bfloat16>(std::uint32_t pair, std::uint32_t trace) {
  return on_host::trace_non_finite(pair, trace, 0x7f80);
}

}  // namespace attnscope::cuda
