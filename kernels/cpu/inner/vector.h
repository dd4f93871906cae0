// SPDX-License-Identifier: Apache-2.0
//
// The vectors of one instruction set, through the compiler's vector extension: the same source
// becomes SSE2, AVX2 or AVX-512 code, depending on the flags. Everything in inner/ has internal
// linkage.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

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
ATTNSCOPE_INLINE void store(std::int32_t* p, Integers v) {
  *reinterpret_cast<UnalignedIntegers*>(p) = v;
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

/// Reduces the lanes of a vector to four with `join`, half by half.
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

/// Lane i of the result is the sum of the lanes of v[i]: a tree of pairwise sums, about three
/// instructions per vector instead of a dozen.
ATTNSCOPE_INLINE Vector sums_of(Vector (&v)[lanes]) {
#if defined(__AVX512F__)
  Vector two[8], four[4];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const Vector a = v[2 * i], b = v[2 * i + 1];
    two[i] =
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
        __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Vector a = two[2 * i], b = two[2 * i + 1];
    four[i] =
        __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
        __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  }
  const auto quarters = [](Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30,
                                   31);
  };
  return quarters(quarters(four[0], four[1]), quarters(four[2], four[3]));
#elif defined(__AVX2__)
  Vector two[4], four[2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Vector a = v[2 * i], b = v[2 * i + 1];
    two[i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
             __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const Vector a = two[2 * i], b = two[2 * i + 1];
    four[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
              __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  return __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
#else
  Vector a = v[0], b = v[1], c = v[2], d = v[3];
  transpose4(a, b, c, d);
  return (a + b) + (c + d);
#endif
}

/// Interleaves two vectors in each group of four lanes: a0 b0 a1 b1, and a2 b2 a3 b3.
ATTNSCOPE_INLINE Vector interleaved_low(Vector a, Vector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
ATTNSCOPE_INLINE Vector interleaved_high(Vector a, Vector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

/// Four floats of lanes / 4 rows, one row per quarter: those at p[0], p[4], p[8] and p[12], where p
/// is a table of rows or returns them from operator[].
template <typename Rows>
ATTNSCOPE_INLINE Vector load_quarters(const Rows& p, int first, std::int64_t offset) {
  const Vector4 a = load4(p[first] + offset);
#if defined(__AVX512F__)
  // Insertions load their row from memory and can use either vector unit; shuffles only one.
  __m512 v = _mm512_castps128_ps512(a);
  v = _mm512_insertf32x4(v, load4(p[first + 4] + offset), 1);
  v = _mm512_insertf32x4(v, load4(p[first + 8] + offset), 2);
  return _mm512_insertf32x4(v, load4(p[first + 12] + offset), 3);
#elif defined(__AVX2__)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(a), load4(p[first + 4] + offset), 1);
#else
  return a;
#endif
}

/// a b + c, rounded once if the instruction set can, regardless of the compiler's contraction
/// flags.
ATTNSCOPE_INLINE Vector multiply_add(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_fmadd_ps(a, b, c));
#elif defined(__FMA__)
  return reinterpret_cast<Vector>(_mm256_fmadd_ps(a, b, c));
#else
  return a * b + c;
#endif
}

/// 2^x for x <= 127: 2^x = 2^n 2^r with n = round(x), |r| <= 1/2, and 2^r a polynomial of relative
/// error at most 1.1e-7 (minimax of degree 5 in units in the last place, with constant term 1; of
/// degree 6 if every product and sum is rounded separately, which uses a part of the bound). With
/// rounding the result is within 2 units in the last place; below x = -126 (e^-87.3) it is 0, never
/// a subnormal number; NaN stays NaN.
ATTNSCOPE_INLINE Vector exp2_of(Vector x) {
  constexpr float least = -126.0f;
#if defined(__AVX512F__)
  const Vector r = reinterpret_cast<Vector>(_mm512_maskz_reduce_ps(0xffff, x, 0));
#else
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vector shifted = x + to_integer;
  const Vector r = x - (shifted - to_integer);
#endif
#if defined(__FMA__)
  Vector p = multiply_add(r, splat(1.32257072e-3f), splat(9.67176259e-3f));
  p = multiply_add(p, r, splat(5.55089153e-2f));
  p = multiply_add(p, r, splat(0.240222365f));
  p = multiply_add(p, r, splat(0.693146825f));
#else
  Vector p = multiply_add(r, splat(1.53533704e-4f), splat(1.33988789e-3f));
  p = multiply_add(p, r, splat(9.61843737e-3f));
  p = multiply_add(p, r, splat(5.55033246e-2f));
  p = multiply_add(p, r, splat(0.240226479f));
  p = multiply_add(p, r, splat(0.693147203f));
#endif
  p = multiply_add(p, r, splat(1.0f));
#if defined(__AVX512F__)
  const __mmask16 normal = _mm512_cmp_ps_mask(x, splat(least), _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(normal, p, x - r);
#else
  // The low bits of `shifted` are n; the shift into the exponent removes its other bits.
  const Bits scaled = reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23);
  return x < splat(least) ? Vector{} : reinterpret_cast<Vector>(scaled);
#endif
}

/// The natural logarithm of normal numbers, within 2e-7 or 2 units in the last place; NaN for NaN
/// and infinity. x = 2^n (1 + f) with 1 + f between 1/sqrt(2) and sqrt(2), and log(1 + f) the
/// polynomial of Cephes' logf.
ATTNSCOPE_INLINE Vector log_of(Vector x) {
  constexpr std::int32_t half_root = 0x3f3504f3;  // 1/sqrt(2)
  const Integers bits = reinterpret_cast<Integers>(x);
  const Integers n = (bits - half_root) >> 23;
  const Vector f = reinterpret_cast<Vector>(bits - (n << 23)) - 1.0f;
  Vector p = f * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const Vector log_of_fraction = f + f * f * (p * f - 0.5f);
  // x - x is NaN if x is not finite.
  return __builtin_convertvector(n, Vector) * 0.693147181f + (log_of_fraction + (x - x));
}

// The first few floats of a vector, for a row that ends within one. Memory past the row is neither
// read nor written: it belongs to another row, perhaps of another thread. No buffer is
// used: a load of data just stored in several parts would wait for the stores.

#if defined(__AVX512F__)

ATTNSCOPE_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1u << count) - 1u);
}

/// p[0 ... count) and `beyond` in the other lanes, 0 <= count <= lanes.
ATTNSCOPE_INLINE Vector load_first(const float* p, std::int64_t count, float beyond) {
  return reinterpret_cast<Vector>(
      _mm512_mask_loadu_ps(reinterpret_cast<__m512>(splat(beyond)), first_lanes(count), p));
}

/// Writes p[0 ... count), 0 <= count <= lanes.
ATTNSCOPE_INLINE void store_first(float* p, std::int64_t count, Vector v) {
  _mm512_mask_storeu_ps(p, first_lanes(count), reinterpret_cast<__m512>(v));
}

#else

#if defined(__AVX2__)
constexpr std::int32_t lane_numbers[lanes] = {0, 1, 2, 3, 4, 5, 6, 7};

ATTNSCOPE_INLINE Vector load_first(const float* p, std::int64_t count, float beyond) {
  const Integers within = load(lane_numbers) < splat(static_cast<std::int32_t>(count));
  const auto loaded =
      reinterpret_cast<Vector>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(within)));
  return within ? loaded : splat(beyond);
}
#else
ATTNSCOPE_INLINE Vector load_first(const float* p, std::int64_t count, float beyond) {
  switch (count) {
    case 0:
      return splat(beyond);
    case 1:
      return Vector{p[0], beyond, beyond, beyond};
    case 2:
      return Vector{p[0], p[1], beyond, beyond};
    case 3:
      return Vector{p[0], p[1], p[2], beyond};
    default:
      return load(p);
  }
}
#endif

/// Stores halves, because a masked store needs dozens of micro-operations on some processors with
/// AVX2.
ATTNSCOPE_INLINE void store_first(float* p, std::int64_t count, Vector v) {
  if (count >= lanes) return store(p, v);
  Vector4 rest = __builtin_shufflevector(v, v, 0, 1, 2, 3);
#if defined(__AVX2__)
  if (count >= 4) {
    store4(p, rest);
    rest = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    p += 4, count -= 4;
  }
#endif
  if (count >= 2) {
    p[0] = rest[0];
    p[1] = rest[1];
    rest = __builtin_shufflevector(rest, rest, 2, 3, 2, 3);
    p += 2, count -= 2;
  }
  if (count >= 1) p[0] = rest[0];
}

#endif

}  // namespace
}  // namespace attnscope::cpu
