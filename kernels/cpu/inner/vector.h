// SPDX-License-Identifier: Apache-2.0
//
// The vectors of one instruction set, through the compiler's vector extension: the same source
// becomes SSE2, AVX2 or AVX-512 code by its flags. Everything in inner/ has internal linkage.
#pragma once

#include <cstdint>

#if !defined(__GNUC__)
#error "the inner loops need the vector extension of GCC or Clang"
#endif

namespace attnscope::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float Vector __attribute__((vector_size(lanes * 4)));
typedef std::int32_t Integers __attribute__((vector_size(lanes * 4)));
typedef std::uint32_t Bits __attribute__((vector_size(lanes * 4)));
typedef float Vector4 __attribute__((vector_size(16)));
typedef float Unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef std::int32_t UnalignedIntegers
    __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef float Unaligned4 __attribute__((vector_size(16), aligned(4), may_alias));

#define ATTNSCOPE_INLINE [[gnu::always_inline]] inline

ATTNSCOPE_INLINE Vector load(const float* p) {
  return *reinterpret_cast<const Unaligned*>(p);
}
ATTNSCOPE_INLINE void store(float* p, Vector v) {
  *reinterpret_cast<Unaligned*>(p) = v;
}
ATTNSCOPE_INLINE Integers load(const std::int32_t* p) {
  return *reinterpret_cast<const UnalignedIntegers*>(p);
}
ATTNSCOPE_INLINE Vector4 load4(const float* p) {
  return *reinterpret_cast<const Unaligned4*>(p);
}
ATTNSCOPE_INLINE void store4(float* p, Vector4 v) {
  *reinterpret_cast<Unaligned4*>(p) = v;
}
/// x - 0 is x for every x, -0 and NaN included, so the compiler drops the subtraction.
ATTNSCOPE_INLINE Vector splat(float x) {
  return x - Vector{};
}
ATTNSCOPE_INLINE Integers splat(std::int32_t x) {
  return x - Integers{};
}

constexpr float infinity = __builtin_inff();

ATTNSCOPE_INLINE Vector larger(Vector a, Vector b) {
  return a > b ? a : b;
}

#if defined(__AVX2__)
ATTNSCOPE_INLINE Vector4 larger(Vector4 a, Vector4 b) {
  return a > b ? a : b;
}
#endif

/// Brings the lanes of a vector down to four with `join`, half by half.
template <typename Join>
ATTNSCOPE_INLINE Vector4 folded(Vector v, const Join& join) {
#if defined(__AVX512F__)
  return join(
      join(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)),
      join(__builtin_shufflevector(v, v, 8, 9, 10, 11),
           __builtin_shufflevector(v, v, 12, 13, 14, 15)));
#elif defined(__AVX2__)
  return join(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7));
#else
  return join(v, v);
#endif
}

/// The four sums of a vector's lanes modulo 4.
ATTNSCOPE_INLINE Vector4 folded(Vector v) {
  if constexpr (lanes > 4) return folded(v, [](Vector4 a, Vector4 b) { return a + b; });
  return __builtin_shufflevector(v, v, 0, 1, 2, 3);
}

ATTNSCOPE_INLINE float sum_of(Vector v) {
  const Vector4 f = folded(v);
  return (f[0] + f[1]) + (f[2] + f[3]);
}

ATTNSCOPE_INLINE float largest_of(Vector v) {
  const Vector4 f = folded(v, [](Vector4 a, Vector4 b) { return larger(a, b); });
  const float low = f[0] > f[1] ? f[0] : f[1];
  const float high = f[2] > f[3] ? f[2] : f[3];
  return low > high ? low : high;
}

ATTNSCOPE_INLINE void transpose4(Vector4& a, Vector4& b, Vector4& c, Vector4& d) {
  const Vector4 ac = __builtin_shufflevector(a, c, 0, 4, 1, 5);  // a0 c0 a1 c1
  const Vector4 bd = __builtin_shufflevector(b, d, 0, 4, 1, 5);
  const Vector4 ac_high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
  const Vector4 bd_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ac, bd, 0, 4, 1, 5);
  b = __builtin_shufflevector(ac, bd, 2, 6, 3, 7);
  c = __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5);
  d = __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7);
}

/// 2^x for x <= 127: 2^x = 2^n 2^r with n = round(x), |r| <= 1/2, and 2^r a polynomial whose
/// relative error is at most 2e-9 (minimax of degree 6 with constant term 1). With rounding the
/// result is within 2 units in the last place; below x = -126 (e^-87.3) it is 0; NaN stays NaN.
ATTNSCOPE_INLINE Vector exp2_of(Vector x) {
  constexpr float least = -126.0f;
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vector clamped = x < splat(least) ? splat(least) : x;
  const Vector shifted = clamped + to_integer;
  const Vector r = clamped - (shifted - to_integer);
  Vector p = r * 1.53533704e-4f + 1.33988789e-3f;
  p = p * r + 9.61843737e-3f;
  p = p * r + 5.55033246e-2f;
  p = p * r + 0.240226479f;
  p = p * r + 0.693147203f;
  p = p * r + 1.0f;
  // The low bits of `shifted` are n; its other bits leave with the shift into the exponent.
  const Bits scaled = reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23);
  return x < splat(least) ? Vector{} : reinterpret_cast<Vector>(scaled);
}

}  // namespace
}  // namespace attnscope::cpu
