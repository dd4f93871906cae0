// SPDX-License-Identifier: Apache-2.0
//
// A piece of a document in kernel pooling: cosines of its tokens with all query rows, then, per
// query row, the kernels and their sums. Cosines are computed in tiles of query rows x tokens with
// the numbers of a row in the lanes, so that rows are read in place and a width of 300 leaves only
// four lanes unused.
//
// Kernels of one sigma at distances of a fifth do not need one exponential each. With y = c sqrt(50
// log2 e), so that exp(-50 c^2) = 2^(-y^2), and w = exp(10 c) = 2^(y sqrt(2 log2 e)),
//
//   phi_mu(c) = exp(-50 (c - mu)^2) = C_mu 2^(-y^2) w^(10 mu),  C_mu = exp(-50 mu^2),
//
// where the constants C_mu are applied to the sums. |c| <= 1 keeps every factor between e^-90 and
// e^50; smaller values are flushed to 0.
#pragma once

#include <xmmintrin.h>

#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

/// Products far below 1e-38 are common here, and subnormal numbers cost a hundred cycles each.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  ~FlushSubnormals() { _mm_setcsr(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_;
};

ATTNSCOPE_INLINE Vector root_of(Vector x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#else
  return reinterpret_cast<Vector>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
#endif
}

/// 1 / (length + 1e-13), from squares of lengths.
ATTNSCOPE_INLINE Vector inverse_of_lengths(Vector squares) {
  return splat(1.0f) / (root_of(squares) + splat(1e-13f));
}

/// Four numbers of a token's row, repeated for each of the query rows in a vector.
ATTNSCOPE_INLINE Vector load_spread(const float* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_broadcast_f32x4(0xffff, load4(p)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector>(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p)));
#else
  return load(p);
#endif
}

/// The same for a row's last `count` numbers, 1 to 3, filled with zeros.
ATTNSCOPE_INLINE Vector load_spread_first(const float* p, std::int64_t count) {
  const Vector v = load_first(p, count, 0.0f);
#if defined(__AVX512F__)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#elif defined(__AVX2__)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 0, 1, 2, 3);
#else
  return v;
#endif
}

/// Each quarter has the sums of the quarters of one of four vectors.
ATTNSCOPE_INLINE Vector sums_of_quarters(Vector a, Vector b, Vector c, Vector d) {
  const Vector ac = interleaved_low(a, c) + interleaved_high(a, c);
  const Vector bd = interleaved_low(b, d) + interleaved_high(b, d);
  return interleaved_low(ac, bd) + interleaved_high(ac, bd);
}

/// Query rows of a block: a vector has four numbers of each.
constexpr int block_rows = lanes / 4;
/// Rows of cosines: the query rows rounded up to whole blocks, on every processor.
ATTNSCOPE_INLINE std::int64_t padded_rows(std::int64_t query_rows) {
  return (query_rows + 3) / 4 * 4;
}
/// Tokens of a tile: as many row pointers as fit into registers.
constexpr int pooling_tile_tokens = lanes == 16 ? 8 : 4;
/// Tokens whose products with all query rows are computed before those of the next group.
constexpr int pooling_group = 16;
/// Numbers in a cache line.
constexpr std::int64_t line_numbers = 16;

/// products[row * cosine_pitch + token] of some blocks of query rows and a group of tokens.
/// Prefetches the rows `later`, if not null, meanwhile: rows of a table are scattered.
template <int blocks>
[[gnu::noinline]] void pooling_products(const PoolingTokens& of, const float* query,
                                        const float* const* group, const float* const* later,
                                        float* products) {
  constexpr int count = pooling_tile_tokens;
  const std::int64_t width = of.width, pitch = of.cosine_pitch;
  const std::int64_t block = (width + 3) / 4 * lanes;
  for (int first = 0; first < pooling_group; first += count) {
    const float* const* tokens = group + first;
    Vector sums[blocks][count] = {};
    const auto step = [&](std::int64_t c, const auto& read) {
      if (later != nullptr && c % line_numbers == 0) {
        for (int j = 0; j < count; ++j) __builtin_prefetch(later[first + j] + c);
      }
      Vector q[blocks];
#pragma GCC unroll 3
      for (int b = 0; b < blocks; ++b) q[b] = load(query + b * block + c * block_rows);
#pragma GCC unroll 8
      for (int j = 0; j < count; ++j) {
        const Vector t = read(tokens[j] + c);
#pragma GCC unroll 3
        for (int b = 0; b < blocks; ++b) sums[b][j] = multiply_add(q[b], t, sums[b][j]);
      }
    };
    std::int64_t c = 0;
    for (; c + 4 <= width; c += 4) step(c, [](const float* p) { return load_spread(p); });
    if (c < width) step(c, [&](const float* p) { return load_spread_first(p, width - c); });
#pragma GCC unroll 3
    for (int b = 0; b < blocks; ++b) {
#pragma GCC unroll 2
      for (int j = 0; j < count; j += 4) {
        float four[lanes];
        store(four, sums_of_quarters(sums[b][j], sums[b][j + 1], sums[b][j + 2], sums[b][j + 3]));
#pragma GCC unroll 4
        for (int r = 0; r < block_rows; ++r)
          store4(products + (b * block_rows + r) * pitch + first + j, load4(four + 4 * r));
      }
    }
  }
}

/// Squared lengths of a group's rows.
[[gnu::noinline]] void pooling_squares(const float* const* group, std::int64_t width,
                                       float* squares) {
  constexpr int count = pooling_tile_tokens;
  for (int first = 0; first < pooling_group; first += count) {
    const float* const* rows = group + first;
    Vector sums[2][count] = {};
    const auto add = [&](std::int64_t c, int turn) {
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i) {
        const Vector v = load(rows[i] + c);
        sums[turn][i] = multiply_add(v, v, sums[turn][i]);
      }
    };
    std::int64_t c = 0;
    for (; c + 2 * lanes <= width; c += 2 * lanes) add(c, 0), add(c + lanes, 1);
    for (; c + lanes <= width; c += lanes) add(c, 0);
    if (c < width) {
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i) {
        const Vector v = load_first(rows[i] + c, width - c, 0.0f);
        sums[1][i] = multiply_add(v, v, sums[1][i]);
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < count; i += 4) {
      const auto sum = [&](int at) { return sums[0][i + at] + sums[1][i + at]; };
      store4(squares + first + i, folded(sums_of_quarters(sum(0), sum(1), sum(2), sum(3))));
    }
  }
}

ATTNSCOPE_INLINE const float* pooling_row(const PoolingTokens& of, std::int64_t token) {
  return of.tokens + (of.numbers == nullptr ? token : of.numbers[token]) * of.token_stride;
}

/// Copies query rows to the layout that tiles read, blocks of rows one after the other, and writes
/// the factors of their products.
void pooling_query(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t width,
                   bool normalised, float* packed, float* scales) {
  const FlushSubnormals flushed;
  for (std::int64_t q = 0; q < count; q += block_rows) {
    for (std::int64_t c = 0; c < width; c += 4) {
      for (std::int64_t r = q; r < q + block_rows; ++r) {
        for (std::int64_t i = c; i < c + 4; ++i)
          *packed++ = r < count && i < width ? rows[r * stride + i] : 0.0f;
      }
    }
  }
  for (std::int64_t first = 0; first < count; first += pooling_group) {
    const float* some[pooling_group];
    for (int i = 0; i < pooling_group; ++i)
      some[i] = rows + (first + i < count ? first + i : count - 1) * stride;
    float squares[pooling_group];
    pooling_squares(some, width, squares);
    for (int i = 0; i < pooling_group; i += lanes)
      store(squares + i, normalised ? splat(1.0f) : inverse_of_lengths(load(squares + i)));
    for (int i = 0; i < pooling_group && first + i < count; ++i) scales[first + i] = squares[i];
  }
}

/// cosines[query row][token] of `count` tokens from `first` on, times pooling_unit, up to a
/// multiple of two vectors. inverses[token] = pooling_unit / length.
void pooling_cosines(const PoolingTokens& of, std::int64_t first, std::int64_t count,
                     float* cosines, float* inverses) {
  const std::int64_t padded = (count + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);
  const std::int64_t blocks = (of.query_rows + block_rows - 1) / block_rows;
  const std::int64_t block = (of.width + 3) / 4 * lanes;
  const auto rows_from = [&](std::int64_t from, const float** to) {
    for (std::int64_t i = 0; i < pooling_group; ++i)
      to[i] = pooling_row(of, first + (from + i < count ? from + i : count - 1));
  };
  for (std::int64_t j = 0; j < padded; j += pooling_group) {
    const float* rows[pooling_group];
    const float* later[pooling_group];
    rows_from(j, rows);
    rows_from(j + pooling_group, later);
    if (!of.normalised) pooling_squares(rows, of.width, inverses + j);
    for (std::int64_t i = j; i < j + pooling_group; i += lanes) {
      const Vector unit = splat(pooling_unit);
      store(inverses + i, of.normalised ? unit : inverse_of_lengths(load(inverses + i)) * unit);
    }
    std::int64_t b = 0;
    const auto some = [&]<int count>() {
      for (; blocks - b == count || blocks - b > 3; b += count) {
        pooling_products<count>(of, of.query + b * block, rows,
                                b == 0 && of.numbers != nullptr ? later : nullptr,
                                cosines + b * block_rows * of.cosine_pitch + j);
      }
    };
    some.template operator()<3>();
    some.template operator()<2>();
    some.template operator()<1>();
    for (std::int64_t q = 0; q < of.query_rows; ++q) {
      const Vector scale = splat(of.query_scales[q]);
      for (std::int64_t i = j; i < j + pooling_group; i += lanes) {
        float* y = cosines + q * of.cosine_pitch + i;
        store(y, load(y) * scale * load(inverses + i));
      }
    }
  }
}

/// C_mu and its logarithm to base 2.
constexpr float kernel_constants[pooling_kernel_count] = {
    1.92874985e-22f, 2.57675711e-18f, 2.28973485e-11f, 3.72665317e-6f,  1.11089965e-2f, 0.60653066f,
    0.60653066f,     1.11089965e-2f,  3.72665317e-6f,  2.28973485e-11f, 2.57675711e-18f};
constexpr float kernel_logarithms[pooling_kernel_count] = {
    -72.134752f,  -58.4291491f, -35.3460285f, -18.033688f,  -6.49212768f, -0.72134752f,
    -0.72134752f, -6.49212768f, -18.033688f,  -35.3460285f, -58.4291491f};

constexpr float lanes_in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// The factors of a cosine's eleven kernels.
struct Kernels {
  Vector y, middle, w, v;  // 2^(-y^2), exp(10 c), exp(-10 c)
};

/// 2^r = even + r odd for |r| <= 1/2: exp2_of()'s polynomial, for which 2^-r = even - r odd.
struct HalfPowers {
  ATTNSCOPE_INLINE explicit HalfPowers(Vector r) {
    const Vector square = r * r;
    even = multiply_add(square, splat(9.67176259e-3f), splat(0.240222365f));
    even = multiply_add(even, square, splat(1.0f));
    odd = multiply_add(square, splat(1.32257072e-3f), splat(5.55089153e-2f));
    odd = multiply_add(odd, square, splat(0.693146825f));
  }
  Vector even, odd;
};

/// Adding it rounds to an integer and leaves that plus 127, a power's exponent field, in the low
/// bits. The factor made from these bits is not part of the polynomial's sum, so NaN stays NaN for
/// any bits.
constexpr float to_exponent = 12582912.0f + 127.0f;

/// 2^r for |r| <= 1/2: exp2_of()'s polynomial.
ATTNSCOPE_INLINE Vector exp2_of_half(Vector r) {
  Vector p = multiply_add(r, splat(1.32257072e-3f), splat(9.67176259e-3f));
  p = multiply_add(p, r, splat(5.55089153e-2f));
  p = multiply_add(p, r, splat(0.240222365f));
  p = multiply_add(p, r, splat(0.693146825f));
  return multiply_add(p, r, splat(1.0f));
}

ATTNSCOPE_INLINE Kernels kernels_of(Vector y) {
  constexpr float root = 1.69864357f, rest_of_root = 3.53981207e-8f;  // sqrt(2 log2 e)
  const Vector negative = Vector{} - y;
  Vector shifted = multiply_add(negative, y, splat(to_exponent));
  Vector r = multiply_add(negative, y, splat(to_exponent) - shifted);
  Kernels of;
  of.y = y;
  of.middle = exp2_of_half(r) * reinterpret_cast<Vector>(reinterpret_cast<Bits>(shifted) << 23);
  shifted = multiply_add(y, splat(root), splat(to_exponent));
  r = multiply_add(y, splat(root), splat(to_exponent) - shifted);
  r = multiply_add(y, splat(rest_of_root), r);
  const HalfPowers power(r);
  const Bits up = reinterpret_cast<Bits>(shifted) << 23;
  const Bits down = 0x7f000000u - up;
  of.w = multiply_add(r, power.odd, power.even) * reinterpret_cast<Vector>(up);
  of.v = multiply_add(Vector{} - r, power.odd, power.even) * reinterpret_cast<Vector>(down);
  return of;
}

/// The first kernel with its own sigma, narrower by `ratio`.
ATTNSCOPE_INLINE Vector narrow_kernel(Vector y, float ratio) {
  const Vector off = (y - splat(pooling_unit)) * splat(ratio);
  return exp2_of(Vector{} - off * off);
}

/// Calls visit(k, a's kernel, b's kernel), each without its constant.
template <bool narrow, typename Visit>
ATTNSCOPE_INLINE void each_kernel(const Kernels& a, const Kernels& b, const Visit& visit) {
  Vector ga = a.middle * a.w, gb = b.middle * b.w;
  Vector step_a = a.w * a.w, step_b = b.w * b.w;
  visit(5, ga, gb);
#pragma GCC unroll 4
  for (int k = 4; k >= 1; --k) {
    ga *= step_a, gb *= step_b;
    visit(k, ga, gb);
  }
  if constexpr (!narrow) visit(0, ga * a.w, gb * b.w);
  ga = a.middle * a.v, gb = b.middle * b.v;
  step_a = a.v * a.v, step_b = b.v * b.v;
  visit(6, ga, gb);
#pragma GCC unroll 4
  for (int k = 7; k <= 10; ++k) {
    ga *= step_a, gb *= step_b;
    visit(k, ga, gb);
  }
}

/// Sets kernels of lanes from `count` on to 0.
ATTNSCOPE_INLINE Vector up_to(Vector values, Vector places, std::int64_t count) {
  return places < splat(static_cast<float>(count)) ? values : Vector{};
}

/// sums[k] of a row's kernels, without their constants.
template <bool narrow>
ATTNSCOPE_INLINE void pooling_row_sums(const float* y, std::int64_t count, float ratio,
                                       float* sums) {
  Vector sum[pooling_kernel_count] = {};
  const auto add = [&](int k, Vector a, Vector b) { sum[k] += a + b; };
  for (std::int64_t j = 0; j < count; j += 2 * lanes) {
    Kernels a = kernels_of(load(y + j)), b = kernels_of(load(y + j + lanes));
    Vector near_a{}, near_b{};
    if constexpr (narrow) {
      near_a = narrow_kernel(a.y, ratio), near_b = narrow_kernel(b.y, ratio);
    }
    if (j + 2 * lanes > count) {
      const Vector place = load(lanes_in_order);
      const std::int64_t left = count - j;
      a.middle = up_to(a.middle, place, left);
      b.middle = up_to(b.middle, place, left - lanes);
      near_a = up_to(near_a, place, left), near_b = up_to(near_b, place, left - lanes);
    }
    each_kernel<narrow>(a, b, add);
    if constexpr (narrow) sum[0] += near_a + near_b;
  }
#pragma GCC unroll 11
  for (int k = 0; k < pooling_kernel_count; ++k) sums[k] = sum_of(sum[k]);
}

/// sums[query row][k] of `count` tokens starting at `first`.
void pooling_sums_of(const PoolingTokens& of, std::int64_t first, std::int64_t count,
                     float* scratch, float* sums) {
  const FlushSubnormals flushed;
  float* inverses = scratch + padded_rows(of.query_rows) * of.cosine_pitch;
  if (count > 0) pooling_cosines(of, first, count, scratch, inverses);
  for (std::int64_t q = 0; q < of.query_rows; ++q) {
    float* to = sums + q * pooling_kernel_count;
    if (of.ratio == 1) {
      pooling_row_sums<false>(scratch + q * of.cosine_pitch, count, of.ratio, to);
    } else {
      pooling_row_sums<true>(scratch + q * of.cosine_pitch, count, of.ratio, to);
    }
    for (int k = of.ratio == 1 ? 0 : 1; k < pooling_kernel_count; ++k) to[k] *= kernel_constants[k];
  }
}

/// Even-numbered and odd-numbered elements of two vectors.
ATTNSCOPE_INLINE Vector evens_of(Vector a, Vector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}
ATTNSCOPE_INLINE Vector odds_of(Vector a, Vector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

/// pairs[k][p] = the kernels of tokens 2 p and 2 p + 1, 0 for missing tokens, for at least `wanted`
/// pairs.
template <bool narrow>
ATTNSCOPE_INLINE void pooling_pairs(const float* y, std::int64_t count, std::int64_t wanted,
                                    float ratio, float* pairs) {
  std::int64_t p = 0;
  for (; 2 * p < count; p += lanes) {
    const Vector one = load(y + 2 * p), two = load(y + 2 * p + lanes);
    Kernels a = kernels_of(evens_of(one, two)), b = kernels_of(odds_of(one, two));
    Vector near_a{}, near_b{};
    if constexpr (narrow) near_a = narrow_kernel(a.y, ratio), near_b = narrow_kernel(b.y, ratio);
    if (2 * (p + lanes) > count) {
      const Vector place = load(lanes_in_order) * splat(2.0f);
      const std::int64_t left = count - 2 * p;
      a.middle = up_to(a.middle, place, left);
      b.middle = up_to(b.middle, place, left - 1);
      near_a = up_to(near_a, place, left), near_b = up_to(near_b, place, left - 1);
    }
    each_kernel<narrow>(a, b, [&](int k, Vector even, Vector odd) {
      store(pairs + k * pooling_pair_pitch + p, even + odd);
    });
    if constexpr (narrow) store(pairs + p, near_a + near_b);
  }
  for (; p < wanted; p += lanes) {
    for (int k = 0; k < pooling_kernel_count; ++k)
      store(pairs + k * pooling_pair_pitch + p, Vector{});
  }
}

/// The logarithm to base 2 of positive normal numbers, plus `added`, within 3e-7 and the rounding
/// of that sum; NaN for NaN. x = 2^n m, 1 <= m < 2, and a minimax polynomial in m - 3/2.
ATTNSCOPE_INLINE Vector log2_plus(Vector x, Vector added) {
#if defined(__AVX512F__)
  const auto n = reinterpret_cast<Vector>(_mm512_maskz_getexp_ps(0xffff, x));
  const auto m = reinterpret_cast<Vector>(
      _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src));
#else
  const Bits bits = reinterpret_cast<Bits>(x);
  const Vector n = __builtin_convertvector(reinterpret_cast<Integers>(bits >> 23), Vector) -
                   splat(127.0f) + (x - x);
  const Vector m = reinterpret_cast<Vector>((bits & 0x7fffffu) | 0x3f800000u);
#endif
  const Vector f = m - splat(1.5f);
  // Even and odd powers separately: a single dependency chain would limit the speed.
  const Vector square = f * f;
  Vector even = multiply_add(square, splat(-0.0251233699f), splat(-0.0705896134f));
  Vector odd = multiply_add(square, splat(0.0151253649f), splat(0.0373112862f));
  even = multiply_add(even, square, splat(-0.320632339f));
  odd = multiply_add(odd, square, splat(0.142545326f));
  even = multiply_add(even, square, n + (added + splat(0.584962765f)));
  odd = multiply_add(odd, square, splat(0.961795379f));
  return multiply_add(odd, f, even);
}

/// The larger of x and `least`; NaN if x is NaN.
ATTNSCOPE_INLINE Vector at_least(Vector x, Vector least) {
  return least > x ? least : x;
}

/// The form of a sum's saturation. wild_power: the product of the exponent and a sum's logarithm to
/// base 2 may leave [-126, 127] and is clamped; small_power: it stays within a half.
enum class Saturating { small_power, power, wild_power, linear, logarithm };

/// factor 2^(exponent l), for a sum with logarithm l.
template <Saturating how>
ATTNSCOPE_INLINE Vector scaled_power(Vector l, Vector exponent, Vector factor) {
  if constexpr (how == Saturating::small_power) return exp2_of_half(l * exponent) * factor;
  if constexpr (how == Saturating::wild_power) {
    const Vector z = l * exponent;
    return exp2_of(z > splat(127.0f) ? splat(127.0f) : z) * factor;
  }
  const Vector shifted = multiply_add(l, exponent, splat(to_exponent));
  const Vector r = multiply_add(l, exponent, splat(to_exponent) - shifted);
  return exp2_of_half(r) *
         (reinterpret_cast<Vector>(reinterpret_cast<Bits>(shifted) << 23) * factor);
}

/// Sums of two and of four pairs starting at each pair.
ATTNSCOPE_INLINE void double_pairs(const float* pairs, std::int64_t regions, float* twos,
                                   float* fours) {
  for (std::int64_t j = 0; j < regions + 12; j += lanes)
    store(twos + j, load(pairs + j) + load(pairs + j + 1));
  for (std::int64_t j = 0; j < regions + 8; j += lanes)
    store(fours + j, load(twos + j) + load(twos + j + 2));
}

/// The sums of 15 pairs starting at j: 8, 4, 2 and 1.
ATTNSCOPE_INLINE Vector region_sum(const float* pairs, const float* twos, const float* fours,
                                   std::int64_t j) {
  return ((load(fours + j) + load(fours + j + 4)) + load(fours + j + 8)) +
         (load(twos + j + 12) + load(pairs + j + 14));
}

/// A query row's tables, for the token counts of regions.
struct SaturationRow {
  const float *factor, *exponent, *constant, *alpha;  // null: none
  float weight;
};

ATTNSCOPE_INLINE SaturationRow saturation_row(const RegionPiece& piece, std::int64_t q) {
  const auto row = [&](const float* table) {
    return table == nullptr ? nullptr : table + q * pooling_table_columns;
  };
  return {.factor = row(piece.factor),
          .exponent = row(piece.exponent),
          .constant = row(piece.constant),
          .alpha = piece.alpha,
          .weight = piece.query_weights == nullptr ? 1.0f : piece.query_weights[q]};
}

/// Constants for a kernel's sums without its constant: the factor to apply, alpha included, its
/// logarithm to base 2, and 1e-10 in the same scale.
struct SaturatedKernel {
  float constant, log2, least;
};

ATTNSCOPE_INLINE SaturatedKernel saturated_kernel(int k, float ratio, const float* alpha) {
  const bool narrow = k == 0 && ratio != 1;
  const float constant = narrow ? 1.0f : kernel_constants[k];
  return {.constant = alpha == nullptr ? constant : constant * alpha[k],
          .log2 = narrow ? 0.0f : kernel_logarithms[k],
          .least = 1e-10f / constant};
}

/// A query row's table values for the regions of a piece that are not full, and for lanes beyond
/// them; 0 if a region has no token.
struct LastRegions {
  static constexpr std::int64_t most = 96;
  float factor[most], exponent[most], constant[most];
};

ATTNSCOPE_INLINE void read_tables(const RegionPiece& piece, const SaturationRow& row,
                                  std::int64_t first, LastRegions& last) {
  for (std::int64_t j = first, i = 0; j < piece.regions + lanes && i < LastRegions::most;
       ++j, ++i) {
    const std::int64_t left = piece.tokens_left - 2 * j;
    const std::int64_t n = left < 30 ? left : 30;
    const bool any = n > 0 && j < piece.regions;
    last.factor[i] = any ? (row.factor == nullptr ? 1.0f : row.factor[n]) : 0.0f;
    last.exponent[i] = any && row.exponent != nullptr ? row.exponent[n] : 0.0f;
    last.constant[i] = any && row.constant != nullptr ? row.constant[n] : 0.0f;
  }
}

/// The contribution of a region's sum `g`, without its constant, to the score.
template <Saturating how>
ATTNSCOPE_INLINE Vector share_of(Vector g, const SaturatedKernel& kernel, Vector factor,
                                 Vector exponent) {
  if constexpr (how == Saturating::logarithm)
    return log2_plus(at_least(g * splat(kernel.constant), splat(1e-10f)), Vector{}) * factor;
  g = at_least(g, splat(kernel.least));
  if constexpr (how == Saturating::linear) return g * (factor * splat(kernel.constant));
  return scaled_power<how>(log2_plus(g, splat(kernel.log2)), exponent, factor);
}

/// Adds a query row's contributions to the scores.
template <Saturating how>
ATTNSCOPE_INLINE void add_row(const RegionPiece& piece, const SaturationRow& row,
                              const float* pairs, float* twos, float* fours, float* scores) {
  const std::int64_t full = piece.regions_full / lanes * lanes;
  LastRegions last;
  read_tables(piece, row, full, last);
  const float factor_full = row.factor == nullptr ? 1.0f : row.factor[30];
  const float exponent_full = row.exponent == nullptr ? 0.0f : row.exponent[30];
  float weights = 0.0f;
  for (int k = 0; k < pooling_kernel_count; ++k) {
    const SaturatedKernel kernel = saturated_kernel(k, piece.of.ratio, row.alpha);
    const float weight = piece.kernel_weights[k] * row.weight;
    weights += weight;
    const float* of = pairs + k * pooling_pair_pitch;
    double_pairs(of, piece.regions, twos, fours);
    const float scale = how == Saturating::logarithm ? weight * 0.693147181f : weight;
    const Vector factor = splat(factor_full * scale), exponent = splat(exponent_full);
    std::int64_t j = 0;
    for (; j < full; j += lanes) {
      store(scores + j, load(scores + j) + share_of<how>(region_sum(of, twos, fours, j), kernel,
                                                         factor, exponent));
    }
    for (; j < piece.regions; j += lanes) {
      store(scores + j,
            load(scores + j) + share_of<how>(region_sum(of, twos, fours, j), kernel,
                                             load(last.factor + j - full) * splat(scale),
                                             load(last.exponent + j - full)));
    }
  }
  if (row.constant == nullptr) return;
  const Vector constant = splat(row.constant[30] * weights);
  std::int64_t j = 0;
  for (; j < full; j += lanes) store(scores + j, load(scores + j) - constant);
  for (; j < piece.regions; j += lanes)
    store(scores + j, load(scores + j) - load(last.constant + j - full) * splat(weights));
}

/// Calls visit.operator()<form of a row's saturation>(). Logarithms of sums are in -33.3 ... 4.91.
template <typename Visit>
ATTNSCOPE_INLINE void with_saturating(const SaturationRow& row, const Visit& visit) {
  if (row.alpha != nullptr) return visit.template operator()<Saturating::logarithm>();
  if (row.exponent == nullptr) return visit.template operator()<Saturating::linear>();
  float largest = 0.0f;
  for (int n = 1; n <= 30; ++n) {
    const float size = row.exponent[n] < 0.0f ? -row.exponent[n] : row.exponent[n];
    if (!(size <= largest)) largest = size;
  }
  if (largest <= 0.5f / 33.3f) return visit.template operator()<Saturating::small_power>();
  if (largest <= 3.0f) return visit.template operator()<Saturating::power>();
  visit.template operator()<Saturating::wild_power>();
}

/// Scores of a piece's regions.
void region_scores_of(const RegionPiece& piece, float* scratch, float* out) {
  const FlushSubnormals flushed;
  const PoolingTokens& of = piece.of;
  float* const inverses = scratch + padded_rows(of.query_rows) * of.cosine_pitch;
  float* const pairs = inverses + of.cosine_pitch;
  float* const twos = pairs + pooling_kernel_count * pooling_pair_pitch;
  float* const fours = twos + pooling_pair_pitch;
  float* const scores = fours + pooling_pair_pitch;
  const std::int64_t padded = (piece.regions + lanes - 1) / lanes * lanes;
  for (std::int64_t j = 0; j < padded; j += lanes) store(scores + j, Vector{});
  if (piece.count > 0) pooling_cosines(of, piece.first, piece.count, scratch, inverses);
  for (std::int64_t q = 0; q < of.query_rows && piece.count > 0; ++q) {
    const SaturationRow row = saturation_row(piece, q);
    if (row.weight == 0) continue;
    const float* y = scratch + q * of.cosine_pitch;
    if (of.ratio == 1) {
      pooling_pairs<false>(y, piece.count, padded + 16, of.ratio, pairs);
    } else {
      pooling_pairs<true>(y, piece.count, padded + 16, of.ratio, pairs);
    }
    with_saturating(
        row, [&]<Saturating how>() { add_row<how>(piece, row, pairs, twos, fours, scores); });
  }
  for (std::int64_t j = 0; j < piece.regions; ++j) out[j] = scores[j];
}

/// Interleaves two vectors: their first halves, and their second halves.
ATTNSCOPE_INLINE Vector in_turns_low(Vector a, Vector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
ATTNSCOPE_INLINE Vector in_turns_high(Vector a, Vector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

/// Centres of the kernels, the mu of the constants C_mu.
constexpr float kernel_centres[pooling_kernel_count] = {1.0f,  0.9f,  0.7f,  0.5f,  0.3f, 0.1f,
                                                        -0.1f, -0.3f, -0.5f, -0.7f, -0.9f};

/// gradients[token] = gradients of the loss with respect to cosines, from those with respect to
/// kernels without their constants, [k][pair of tokens].
template <bool narrow>
ATTNSCOPE_INLINE void cosine_gradients(const float* y, std::int64_t count, float ratio,
                                       const float* of_kernels, float* gradients) {
  for (std::int64_t p = 0; 2 * p < count; p += lanes) {
    const Vector one = load(y + 2 * p), two = load(y + 2 * p + lanes);
    const Kernels a = kernels_of(evens_of(one, two)), b = kernels_of(odds_of(one, two));
    // phi' = 100 (mu - c) phi: sums of phi and of mu phi, each times its gradient.
    Vector plain_a{}, plain_b{}, centred_a{}, centred_b{};
    each_kernel<narrow>(a, b, [&](int k, Vector ga, Vector gb) {
      const Vector d = load(of_kernels + k * pooling_pair_pitch + p);
      ga *= d, gb *= d;
      plain_a += ga, plain_b += gb;
      centred_a = multiply_add(ga, splat(kernel_centres[k]), centred_a);
      centred_b = multiply_add(gb, splat(kernel_centres[k]), centred_b);
    });
    const Vector unit = splat(1.0f / pooling_unit), hundred = splat(100.0f);
    const Vector cosine_a = a.y * unit, cosine_b = b.y * unit;
    Vector to_a = hundred * (centred_a - cosine_a * plain_a);
    Vector to_b = hundred * (centred_b - cosine_b * plain_b);
    if constexpr (narrow) {
      const Vector d = load(of_kernels + p) * (hundred * splat(ratio * ratio));
      to_a += d * narrow_kernel(a.y, ratio) * (splat(1.0f) - cosine_a);
      to_b += d * narrow_kernel(b.y, ratio) * (splat(1.0f) - cosine_b);
    }
    store(gradients + 2 * p, in_turns_low(to_a, to_b));
    store(gradients + 2 * p + lanes, in_turns_high(to_a, to_b));
  }
}

/// Outputs for a row's gradients with respect to its tables.
struct TableGradients {
  float *weights, *alpha, *factor, *exponent, *constant;
};

/// Adds a region's gradients to those of the tables: `of` is its gradient times the row's weight,
/// `value` the operand of its factor, `log` the logarithm to base 2 of its sum.
ATTNSCOPE_INLINE void add_to_tables(const TableGradients& to, int k, float kernel_weight,
                                    const SaturationRow& row, std::int64_t n, float of,
                                    float of_value, float of_value_log) {
  const float factor = row.factor == nullptr ? 1.0f : row.factor[n];
  const float constant = row.constant == nullptr ? 0.0f : row.constant[n];
  to.weights[k] += factor * of_value - constant * of;
  to.factor[n] += kernel_weight * of_value;
  to.exponent[n] += kernel_weight * factor * 0.693147181f * of_value_log;
  to.constant[n] -= kernel_weight * of;
}

/// of_kernels[k][pair] of the piece's own pairs, and the table gradients of its own regions.
template <Saturating how>
ATTNSCOPE_INLINE void region_row_gradients(const PoolingBackwardPiece& piece,
                                           const SaturationRow& row, const TableGradients& tables,
                                           const float* pairs, float* twos, float* fours,
                                           float* arriving, float* of_kernels) {
  const RegionPiece& regions = piece.regions;
  const std::int64_t padded = (regions.regions + lanes - 1) / lanes * lanes;
  const std::int64_t full = regions.regions_full / lanes * lanes;
  LastRegions last;
  read_tables(regions, row, full, last);
  for (int i = 0; i < 16; ++i) arriving[i] = 0.0f;
  for (int k = 0; k < pooling_kernel_count; ++k) {
    const SaturatedKernel kernel = saturated_kernel(k, piece.of.ratio, row.alpha);
    const float* of = pairs + k * pooling_pair_pitch;
    double_pairs(of, padded, twos, fours);
    const float weight = regions.kernel_weights[k];
    const Vector scale = splat(weight * row.weight);
    Vector sum_of_own{}, sum_of_values{}, sum_of_logs{}, sum_of_alpha{};
    for (std::int64_t j = 0; j < padded; j += lanes) {
      const bool whole = j < full;
      const Vector factor = whole ? splat(row.factor == nullptr ? 1.0f : row.factor[30])
                                  : load(last.factor + j - full);
      const Vector exponent = whole ? splat(row.exponent == nullptr ? 0.0f : row.exponent[30])
                                    : load(last.exponent + j - full);
      const Vector sum = region_sum(of, twos, fours, j);
      const Vector zero{};
      const Vector gradient = load(piece.gradients + j) * scale * factor;
      Vector value{}, log{}, by_sum{};
      Vector own = load(piece.own_gradients + j) * splat(row.weight);
      if constexpr (how == Saturating::logarithm) {
        const Vector scaled = sum * splat(kernel.constant), least = splat(1e-10f);
        value = log2_plus(at_least(scaled, least), zero) * splat(0.693147181f);
        by_sum = scaled < least ? zero : gradient / sum;
        sum_of_alpha += scaled < least ? zero : own * (whole ? splat(1.0f) : factor);
      } else if constexpr (how == Saturating::linear) {
        value = at_least(sum, splat(kernel.least)) * splat(kernel.constant);
        by_sum = sum < splat(kernel.least) ? zero : gradient * splat(kernel.constant);
      } else {
        const Vector base = at_least(sum, splat(kernel.least));
        log = log2_plus(base, splat(kernel.log2));
        value = scaled_power<how>(log, exponent, splat(1.0f));
        by_sum = sum < splat(kernel.least) ? zero : gradient * exponent * value / base;
      }
      store(arriving + 14 + j, by_sum);
      const Vector of_value = own * value, of_log = of_value * log;
      if (whole) {
        sum_of_own += own, sum_of_values += of_value, sum_of_logs += of_log;
        continue;
      }
      float owns[lanes], values[lanes], logs[lanes];
      store(owns, own), store(values, of_value), store(logs, of_log);
      for (int i = 0; i < lanes; ++i) {
        const std::int64_t left = regions.tokens_left - 2 * (j + i);
        if (left <= 0 || j + i >= regions.regions || owns[i] == 0) continue;
        add_to_tables(tables, k, weight, row, left < 30 ? left : 30, owns[i], values[i], logs[i]);
      }
    }
    if (full > 0) {
      add_to_tables(tables, k, weight, row, 30, sum_of(sum_of_own), sum_of(sum_of_values),
                    sum_of(sum_of_logs));
    }
    if (row.alpha != nullptr) tables.alpha[k] += sum_of(sum_of_alpha) * weight / row.alpha[k];
    // A pair is in the 15 regions that end with the one starting at it.
    for (std::int64_t j = padded + 14; j < padded + 48; ++j) arriving[j] = 0.0f;
    double_pairs(arriving, padded + 16, twos, fours);
    for (std::int64_t p = 0; 2 * p < piece.count; p += lanes) {
      store(of_kernels + k * pooling_pair_pitch + p,
            region_sum(arriving, twos, fours, piece.pairs_before + p));
    }
  }
}

template <bool narrow>
ATTNSCOPE_INLINE void region_kernel_gradients(const PoolingBackwardPiece& piece, std::int64_t q,
                                              const float* y, float* pairs, float* twos,
                                              float* fours, float* arriving, float* of_kernels) {
  const RegionPiece& regions = piece.regions;
  const SaturationRow row = saturation_row(regions, q);
  const std::int64_t padded = (regions.regions + lanes - 1) / lanes * lanes;
  pooling_pairs<narrow>(y, regions.count, padded + 32, piece.of.ratio, pairs);
  const std::int64_t at = q * pooling_table_columns;
  const TableGradients tables{.weights = piece.grad_weights,
                              .alpha = piece.grad_alpha,
                              .factor = piece.grad_factor + at,
                              .exponent = piece.grad_exponent + at,
                              .constant = piece.grad_constant + at};
  with_saturating(row, [&]<Saturating how>() {
    region_row_gradients<how>(piece, row, tables, pairs, twos, fours, arriving, of_kernels);
  });
}

/// Writes begin[row][c] + the sum over j of factors[j * step + row * row_stride] other[j][c], two
/// vectors of numbers at a time.
template <int rows, typename Begin, typename Other, typename Write>
ATTNSCOPE_INLINE void row_gradient_tile(std::int64_t width, std::int64_t count,
                                        const float* factors, std::int64_t row_stride,
                                        std::int64_t step, const Begin& begin, const Other& other,
                                        const Write& write) {
  for (std::int64_t c = 0; c < width; c += 2 * lanes) {
    Vector sum[rows][2];
    for (int r = 0; r < rows; ++r) sum[r][0] = begin(r, c), sum[r][1] = begin(r, c + lanes);
    for (std::int64_t j = 0; j < count; ++j) {
      const Vector first = other(j, c), second = other(j, c + lanes);
      for (int r = 0; r < rows; ++r) {
        const Vector factor = splat(factors[j * step + r * row_stride]);
        sum[r][0] = multiply_add(factor, first, sum[r][0]);
        sum[r][1] = multiply_add(factor, second, sum[r][1]);
      }
    }
    for (int r = 0; r < rows; ++r) write(r, c, sum[r][0]), write(r, c + lanes, sum[r][1]);
  }
}

/// Computes gradients of rows from those of cosines: with lengths |q| and |d|,
///   dc/dq = (d / |d| - c q / |q|) / |q|,
/// and likewise for d; for normalised rows dc/dq = d.
void row_gradients(const PoolingBackwardPiece& piece, const float* cosines, const float* inverses,
                   float* gradients) {
  const PoolingTokens& of = piece.of;
  const std::int64_t pitch = of.cosine_pitch, width = of.width;
  const std::int64_t padded = (piece.count + lanes - 1) / lanes * lanes;
  const auto within = [&](const float* row, std::int64_t c) {
    if (c + lanes <= width) return load(row + c);
    return c < width ? load_first(row + c, width - c, 0.0f) : Vector{};
  };
  // Each row's part along itself, and gradients over both lengths.
  float along_tokens[pooling_backward_pitch];
  for (std::int64_t j = 0; j < padded; j += lanes) store(along_tokens + j, Vector{});
  for (std::int64_t q = 0; q < of.query_rows; ++q) {
    const float inverse_length = of.query_scales[q] > 1e12f ? 0.0f : of.query_scales[q];
    const Vector unit = splat(1.0f / pooling_unit), scale = splat(inverse_length);
    Vector along{};
    for (std::int64_t j = 0; j < padded; j += lanes) {
      Vector g = load(gradients + q * pitch + j);
      Vector own = g * load(cosines + q * pitch + j) * unit;
      if (j + lanes > piece.count) {
        // No cosines were written after the last token.
        const Vector place = load(lanes_in_order);
        g = up_to(g, place, piece.count - j), own = up_to(own, place, piece.count - j);
      }
      along += own;
      store(along_tokens + j, load(along_tokens + j) + own);
      store(gradients + q * pitch + j, g * scale * load(inverses + j) * unit);
    }
    if (piece.grad_query != nullptr && !piece.query_normalised) {
      const Vector factor = splat(-sum_of(along) * inverse_length * inverse_length);
      for (std::int64_t c = 0; c < piece.query_pitch; c += lanes) {
        float* to = piece.grad_query + q * piece.query_pitch + c;
        store(to, multiply_add(factor, load(piece.query + q * piece.query_pitch + c), load(to)));
      }
    }
  }
  for (std::int64_t j = 0; j < padded && !of.normalised; j += lanes) {
    const Vector inverse = load(inverses + j) * splat(1.0f / pooling_unit);
    store(along_tokens + j, Vector{} - load(along_tokens + j) * inverse * inverse);
  }
  for (std::int64_t t = 0; t < piece.count; t += 4) {
    const std::int64_t some = piece.count - t < 4 ? piece.count - t : 4;
    const float* rows[4];
    for (int r = 0; r < 4; ++r) rows[r] = pooling_row(of, piece.first + t + (r < some ? r : 0));
    if (piece.grad_tokens != nullptr) {
      row_gradient_tile<4>(
          width, of.query_rows, gradients + t, 1, pitch,
          [&](int r, std::int64_t c) {
            if (of.normalised) return Vector{};
            return splat(along_tokens[t + r]) * within(rows[r], c);
          },
          [&](std::int64_t q, std::int64_t c) {
            return load(piece.query + q * piece.query_pitch + c);
          },
          [&](int r, std::int64_t c, Vector v) {
            if (r >= some || c >= width) return;
            const std::int64_t left = width - c;
            store_first(piece.grad_tokens + (t + r) * piece.grad_token_stride + c,
                        left < lanes ? left : lanes, v);
          });
    }
  }
  for (std::int64_t t = 0; t < piece.count && piece.grad_query != nullptr; t += pooling_group) {
    const std::int64_t some =
        piece.count - t < pooling_group ? piece.count - t : std::int64_t{pooling_group};
    const float* rows[pooling_group];
    for (std::int64_t r = 0; r < some; ++r) rows[r] = pooling_row(of, piece.first + t + r);
    std::int64_t q = 0;
    const auto tile = [&]<int count>() {
      for (; q + count <= of.query_rows; q += count) {
        float* const to = piece.grad_query + q * piece.query_pitch;
        row_gradient_tile<count>(
            width, some, gradients + q * pitch + t, pitch, 1,
            [&](int r, std::int64_t c) { return load(to + r * piece.query_pitch + c); },
            [&](std::int64_t j, std::int64_t c) { return within(rows[j], c); },
            [&](int r, std::int64_t c, Vector v) { store(to + r * piece.query_pitch + c, v); });
      }
    };
    tile.template operator()<4>();
    tile.template operator()<1>();
  }
}

/// Gradients of a piece's tokens, and their contributions to those of the query and the tables.
void pooling_backward(const PoolingBackwardPiece& piece, float* scratch) {
  const FlushSubnormals flushed;
  const PoolingTokens& of = piece.of;
  const std::int64_t pitch = of.cosine_pitch, rows = padded_rows(of.query_rows);
  float* const inverses = scratch + rows * pitch;
  float* const gradients = inverses + pitch;
  float* const pairs = gradients + rows * pitch;
  float* const of_kernels = pairs + pooling_kernel_count * pooling_pair_pitch;
  float* const twos = of_kernels + pooling_kernel_count * pooling_pair_pitch;
  float* const fours = twos + pooling_pair_pitch;
  float* const arriving = fours + pooling_pair_pitch;
  const bool of_regions = piece.grad_sums == nullptr;
  const std::int64_t first = of_regions ? piece.regions.first : piece.first;
  pooling_cosines(of, first, of_regions ? piece.regions.count : piece.count, scratch, inverses);
  // A row of zeros has no direction and gets no gradient.
  for (std::int64_t j = 0; j < pitch; j += lanes) {
    const Vector inverse = load(inverses + j);
    store(inverses + j, inverse > splat(1e13f) ? Vector{} : inverse);
  }
  const std::int64_t before = piece.first - first;
  for (std::int64_t q = 0; q < of.query_rows; ++q) {
    const float* y = scratch + q * pitch;
    if (!of_regions) {
      for (int k = 0; k < pooling_kernel_count; ++k) {
        const SaturatedKernel kernel = saturated_kernel(k, of.ratio, nullptr);
        const float weight =
            piece.regions.query_weights == nullptr ? 1.0f : piece.regions.query_weights[q];
        const float d = piece.grad_sums[q * pooling_kernel_count + k] * kernel.constant * weight;
        for (std::int64_t p = 0; 2 * p < piece.count; p += lanes)
          store(of_kernels + k * pooling_pair_pitch + p, splat(d));
      }
    } else if (of.ratio == 1) {
      region_kernel_gradients<false>(piece, q, y, pairs, twos, fours, arriving, of_kernels);
    } else {
      region_kernel_gradients<true>(piece, q, y, pairs, twos, fours, arriving, of_kernels);
    }
    if (of.ratio == 1) {
      cosine_gradients<false>(y + before, piece.count, of.ratio, of_kernels, gradients + q * pitch);
    } else {
      cosine_gradients<true>(y + before, piece.count, of.ratio, of_kernels, gradients + q * pitch);
    }
  }
  row_gradients(piece, scratch + before, inverses + before, gradients);
}

}  // namespace
}  // namespace attnscope::cpu
