#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Every PTX instruction of the kernels, one function each; all of them need sm_80 or later. An
// emulation of the device has the same functions in its own ptx_on_host.h.
//
// Fragments of mma.m16n8k16 with 16-bit operands (PTX ISA 9.7.14.5.8; CuTe
// SM80_16x8x16_F32F16F16F32_TN), for lane = 4 g + t, pairs of 16-bit numbers with the low half
// first:
//
//   A [16 x 16]  a0: row g,   columns 2t, 2t+1     a1: row g+8, columns 2t, 2t+1
//                a2: row g,   columns 2t+8, 2t+9   a3: row g+8, columns 2t+8, 2t+9
//   B [16 x 8]   b0: rows 2t, 2t+1 of column g     b1: rows 2t+8, 2t+9 of column g
//   C [16 x 8]   c0, c1: row g, columns 2t, 2t+1   c2, c3: row g+8, columns 2t, 2t+1

#ifdef ATTNSCOPE_CUDA_ON_HOST
#include <ptx_on_host.h>
#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace attnscope::cuda {

/// The block's dynamic shared memory, aligned to 128 bytes; kernels use no other shared memory.
__device__ inline std::byte* dynamic_shared() {
  extern __shared__ __align__(128) std::byte shared[];
  return shared;
}

/// c += a b for operands of type T (__half or __nv_bfloat16), sums in float32.
template <typename T>
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
#define ATTNSCOPE_MMA(type)                                              \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type    \
               ".f32 "                                                   \
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
  if constexpr (std::is_same_v<T, __half>) {
    ATTNSCOPE_MMA("f16");
  } else {
    ATTNSCOPE_MMA("bf16");
  }
#undef ATTNSCOPE_MMA
}

/// 2^x, to 2 units in the last place; 0 for x = -inf and below -126 (PTX ISA: ex2.approx.ftz.f32).
__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// The logarithm to base 2 to 22 fractional bits; -inf for 0 (PTX ISA: lg2.approx.ftz.f32).
__device__ inline float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / x to 1 unit in the last place (PTX ISA: rcp.approx.ftz.f32).
__device__ inline float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// x, as a value opaque to the compiler.
__device__ inline int opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
/// The same for an address in global memory, parts of which the compiler would otherwise recompute
/// for each use.
template <typename Byte>
__device__ inline Byte* opaque(Byte* x) {
  asm volatile("" : "+l"(x));
  __builtin_assume(__isGlobal(x));
  return x;
}

/// base + row * stride in one instruction: the compiler splits the sum of a `mad.wide` into two
/// instructions, and uses three for a product of operands that are sign-extended elsewhere.
template <typename Byte>
__device__ inline Byte* row_at(Byte* base, int row, int stride) {
  std::int64_t distance = 0;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(distance) : "r"(row), "r"(stride));
  return base + distance;
}

/// trace + 0 * pair, in both 16-bit halves: a trace that started as 0 stays 0 as long as all
/// numbers of the pairs are finite.
template <typename T>
__device__ inline std::uint32_t trace_non_finite(std::uint32_t pair, std::uint32_t trace) {
  if constexpr (std::is_same_v<T, __half>) {
    asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(trace) : "r"(pair), "r"(0u));
  } else {
    asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(trace) : "r"(pair), "r"(0u));
  }
  return trace;
}

}  // namespace attnscope::cuda

#endif
