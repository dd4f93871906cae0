// SPDX-License-Identifier: Apache-2.0
//
// The joint softmax over all segments of a row, and its gradient.
#pragma once

#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/inner/windowed_rows.h"

namespace attnscope::cpu {
namespace {

ATTNSCOPE_INLINE Vector4 larger_of_4(Vector4 a, Vector4 b) {
  return a > b ? a : b;
}

/// Lane r: the vectors of row r reduced to one number with `join`.
template <typename Join>
ATTNSCOPE_INLINE Vector4 joined_rows(const Vector (&row)[4], const Join& join) {
  Vector4 f[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    if constexpr (lanes > 4) {
      f[r] = folded(row[r], join);
    } else {
      f[r] = __builtin_shufflevector(row[r], row[r], 0, 1, 2, 3);
    }
  }
  transpose4(f[0], f[1], f[2], f[3]);
  return join(join(f[0], f[1]), join(f[2], f[3]));
}

/// log2 x for normal x >= 2^-126, within 4e-7 of 1 or of itself; infinity and NaN stay. With
/// x = 2^n m, m in [sqrt(1/2), sqrt(2)), and t = (m - 1) / (m + 1), log m = 2 atanh t.
ATTNSCOPE_INLINE Vector4 log2_of(Vector4 x) {
  typedef std::int32_t Integers4 __attribute__((vector_size(16)));
  const auto bits = reinterpret_cast<Integers4>(x);
  const Integers4 n = (bits - 0x3f3504f3) >> 23;
  const auto m = reinterpret_cast<Vector4>(bits - (n << 23));
  const Vector4 t = (m - 1.0f) / (m + 1.0f);
  const Vector4 u = t * t;
  Vector4 p = u * 0.320598898f + 0.412198583f;  // 2 / (9 ln 2), 2 / (7 ln 2), ...
  p = p * u + 0.577078016f;
  p = p * u + 0.961796694f;
  p = p * u + 2.88539008f;
  const Vector4 log = __builtin_convertvector(n, Vector4) + p * t;
  return x < infinity ? log : x;
}

/// The terms of the log-sum-exp of four rows, in units of log 2.
struct RowSums {
  Vector4 base;
  Vector4 sum;
};

/// The largest score of each row, or 0 for a row without scores.
ATTNSCOPE_INLINE Vector4 bases_of(const Vector (&peak)[4]) {
  const Vector4 m = joined_rows(peak, [](Vector4 a, Vector4 b) { return larger_of_4(a, b); });
  return m == -infinity ? Vector4{} : m;
}

ATTNSCOPE_INLINE Vector4 sums_of(const Vector (&sum)[4]) {
  return joined_rows(sum, [](Vector4 a, Vector4 b) { return a + b; });
}

ATTNSCOPE_INLINE Vector4 inverse_of(Vector4 sum) {
  return sum == 0.0f ? Vector4{} : 1.0f / sum;
}

/// Replaces scores of four rows in units of log 2 with weights that sum to 1: rows of a few vectors
/// stay in registers.
template <int Vectors>
ATTNSCOPE_INLINE RowSums softmax_of_short_rows(float* const* s, std::int64_t columns) {
  constexpr std::int64_t whole = (Vectors - 1) * lanes;
  const std::int64_t rest = columns - whole;
  Vector v[4][Vectors], row[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    row[r] = v[r][Vectors - 1] = load_first(s[r] + whole, rest, -infinity);
#pragma GCC unroll 4
    for (int x = 0; x < Vectors - 1; ++x) {
      v[r][x] = load(s[r] + x * lanes);
      row[r] = larger(v[r][x], row[r]);
    }
  }
  const Vector4 base = bases_of(row);
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    row[r] = Vector{};
#pragma GCC unroll 4
    for (int x = 0; x < Vectors; ++x) row[r] += v[r][x] = exp2_of(v[r][x] - base[r]);
  }
  const Vector4 sum = sums_of(row);
  const Vector4 inverse = inverse_of(sum);
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
    for (int x = 0; x < Vectors - 1; ++x) store(s[r] + x * lanes, v[r][x] * inverse[r]);
    store_first(s[r] + whole, rest, v[r][Vectors - 1] * inverse[r]);
  }
  return {base, sum};
}

/// The same for `Rows` rows of any length, in place; lanes beyond them repeat the first.
template <int Rows>
inline RowSums softmax_of_long_rows(float* const* s, std::int64_t columns) {
  const std::int64_t whole = columns / lanes * lanes;
  const std::int64_t rest = columns - whole;
  Vector tail[4], row[4];
  for (int r = 0; r < Rows; ++r) {
    row[r] = tail[r] = load_first(s[r] + whole, rest, -infinity);
    for (std::int64_t j = 0; j < whole; j += lanes) row[r] = larger(load(s[r] + j), row[r]);
  }
  for (int r = Rows; r < 4; ++r) row[r] = row[0];
  const Vector4 base = bases_of(row);
  for (int r = 0; r < Rows; ++r) {
    row[r] = tail[r] = exp2_of(tail[r] - base[r]);
    for (std::int64_t j = 0; j < whole; j += lanes) {
      const Vector p = exp2_of(load(s[r] + j) - base[r]);
      store(s[r] + j, p);
      row[r] += p;
    }
  }
  for (int r = Rows; r < 4; ++r) row[r] = row[0];
  const Vector4 sum = sums_of(row);
  const Vector4 inverse = inverse_of(sum);
  for (int r = 0; r < Rows; ++r) {
    for (std::int64_t j = 0; j < whole; j += lanes) store(s[r] + j, load(s[r] + j) * inverse[r]);
    store_first(s[r] + whole, rest, tail[r] * inverse[r]);
  }
  return {base, sum};
}

ATTNSCOPE_INLINE void write_lse(const RowChunk& rows, std::int64_t first, std::int64_t count,
                                const RowSums& sums) {
  if (rows.lse == nullptr) return;
  const Vector4 lse = (sums.base + log2_of(sums.sum)) * static_cast<float>(ln_2);
  for (std::int64_t r = 0; r < count; ++r) {
    rows.lse[token_of(rows.queries, rows.indices, first + r) * rows.lse_stride] =
        sums.sum[r] == 0.0f ? -infinity : lse[r];
  }
}

/// Four rows at a time; if fewer are left, `softmax` gets the last one several times and writes the
/// same values each time.
template <typename Softmax>
ATTNSCOPE_INLINE void softmax_by_four(const WindowedChunk& chunk, const Softmax& softmax) {
  const std::int64_t count = row_count(chunk.rows);
  for (std::int64_t first = 0; first < count; first += 4) {
    float* s[4];
    for (int r = 0; r < 4; ++r) s[r] = chunk.scores + least(first + r, count - 1) * chunk.columns;
    write_lse(chunk.rows, first, least(4, count - first), softmax(s, chunk.columns));
  }
}

inline void softmax_of_long_rows(const WindowedChunk& chunk) {
  const std::int64_t count = row_count(chunk.rows);
  std::int64_t first = 0;
  for (; first + 4 <= count; first += 4) {
    float* s[4];
    for (int r = 0; r < 4; ++r) s[r] = chunk.scores + (first + r) * chunk.columns;
    write_lse(chunk.rows, first, 4, softmax_of_long_rows<4>(s, chunk.columns));
  }
  for (; first < count; ++first) {
    float* s = chunk.scores + first * chunk.columns;
    write_lse(chunk.rows, first, 1, softmax_of_long_rows<1>(&s, chunk.columns));
  }
}

void windowed_softmax(const WindowedChunk& chunk) {
  switch ((chunk.columns + lanes - 1) / lanes) {
    case 0:
    case 1:
      return softmax_by_four(chunk, softmax_of_short_rows<1>);
    case 2:
      return softmax_by_four(chunk, softmax_of_short_rows<2>);
    case 3:
      return softmax_by_four(chunk, softmax_of_short_rows<3>);
    default:
      return softmax_of_long_rows(chunk);
  }
}

/// dS = P (dP - D) with D = sum of P dP, for `Rows` rows `columns` apart: `s` is dP and becomes
/// dS. Outside the pattern P and dP are 0, and no later step reads there.
template <int Rows>
ATTNSCOPE_INLINE void score_gradients_of_rows(const float* weights, std::int64_t columns,
                                              float* s) {
  const std::int64_t whole = columns / lanes * lanes;
  const std::int64_t rest = columns - whole;
  Vector last_weights[Rows], last[Rows], row[4];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    const float *p = weights + r * columns, *dp = s + r * columns;
    last_weights[r] = load_first(p + whole, rest, 0.0f);
    last[r] = load_first(dp + whole, rest, 0.0f);
    row[r] = last_weights[r] * last[r];
    for (std::int64_t j = 0; j < whole; j += lanes) row[r] += load(p + j) * load(dp + j);
  }
  for (int r = Rows; r < 4; ++r) row[r] = row[0];
  const Vector4 mean = sums_of(row);
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    const float* p = weights + r * columns;
    float* ds = s + r * columns;
    for (std::int64_t j = 0; j < whole; j += lanes) {
      store(ds + j, load(p + j) * (load(ds + j) - mean[r]));
    }
    store_first(ds + whole, rest, last_weights[r] * (last[r] - mean[r]));
  }
}

void windowed_score_gradients(const WindowedChunk& chunk) {
  const std::int64_t count = row_count(chunk.rows), columns = chunk.columns;
  std::int64_t r = 0;
  for (; r + 4 <= count; r += 4) {
    score_gradients_of_rows<4>(chunk.weights + r * columns, columns, chunk.scores + r * columns);
  }
  for (; r < count; ++r) {
    score_gradients_of_rows<1>(chunk.weights + r * columns, columns, chunk.scores + r * columns);
  }
}

}  // namespace
}  // namespace attnscope::cpu
