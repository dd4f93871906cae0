// SPDX-License-Identifier: Apache-2.0
//
// The two register-blocked products. Scores have query rows in the lanes (the query is transposed
// once per tile, keys are broadcast from memory), so that maxima and sums over keys need no
// shuffles. Values have the head dimension in the lanes, so that outputs have their storage order
// and a few rows share each value they load.
#pragma once

#include "kernels/cpu/inner/rows.h"

namespace attnscope::cpu {
namespace {

/// Rows of a tile: one vector; two where a vector is so narrow that broadcasts would dominate.
constexpr int row_vectors = lanes == 4 ? 2 : 1;
constexpr int row_tile = lanes * row_vectors;
/// Rows that share the values they load: fewer than the tile, because at w = 4 a row attends to 9
/// of the tile's 24 keys and a group of 4 rows to 12.
constexpr int row_group = 4;
/// Tiles of this many rows or fewer are processed row by row, with keys in the lanes.
constexpr int few_rows = row_tile / 8;
/// Keys per step of the score product: enough sums to hide the latency of a multiply-add and to
/// amortise the load of the query. With 8 instead of 12 an AVX-512 core reaches 91% of its rate
/// instead of 99%.
constexpr int key_step = lanes == 4 ? 4 : 12;

/// From this head dimension on a score is the sum of two halves. (Measured at scores of 75 and
/// dimension 32: errors of 1.5e-6 on average instead of 2.2e-6.)
constexpr std::int64_t least_dim_of_halves = 32;

/// Transposes rows of d floats at row[r] to out[c * row_tile + r], times `scale`. `row` is a table
/// of row_tile rows or returns them from operator[].
template <typename Rows>
ATTNSCOPE_INLINE void transpose_rows(const Rows& row, std::int64_t d, float scale, float* out) {
  for (int r = 0; r < row_tile; r += lanes) {
    const auto columns = [&](std::int64_t c) {
      // Vector i has rows i, i + 4 ... in its quarters; a transposition within each quarter gives
      // one column per vector, with rows in order.
      const Vector a = load_quarters(row, r, c), b = load_quarters(row, r + 1, c);
      const Vector e = load_quarters(row, r + 2, c), f = load_quarters(row, r + 3, c);
      const Vector ae = interleaved_low(a, e), bf = interleaved_low(b, f);
      const Vector ae_high = interleaved_high(a, e), bf_high = interleaved_high(b, f);
      float* to = out + c * row_tile + r;
      store(to, interleaved_low(ae, bf) * scale);
      store(to + row_tile, interleaved_high(ae, bf) * scale);
      store(to + 2 * row_tile, interleaved_low(ae_high, bf_high) * scale);
      store(to + 3 * row_tile, interleaved_high(ae_high, bf_high) * scale);
    };
    std::int64_t c = 0;
    for (; c + 4 <= d; c += 4) columns(c);
    if (c == d) continue;
    if (d >= 4) {  // the last four, some of them for the second time
      columns(d - 4);
      continue;
    }
    for (; c < d; ++c) {
      for (int i = 0; i < lanes; ++i) out[c * row_tile + r + i] = row[r + i][c] * scale;
    }
  }
}

/// Rows with a stride.
struct StridedRows {
  const float* first;
  std::int64_t stride;
  ATTNSCOPE_INLINE const float* operator[](std::int64_t r) const { return first + r * stride; }
};

/// scores[key][row] for `Keys` keys that are `stride` floats apart.
template <int Keys>
ATTNSCOPE_INLINE void score_step(const float* query, const float* key, std::int64_t stride,
                                 std::int64_t d, float* scores) {
  // Two sums of half the length: a sum's rounding grows with its length, and exp2() amplifies it
  // for large scores.
  const std::int64_t middle = d < least_dim_of_halves ? 0 : d / 2;
  const auto add = [&](std::int64_t begin, std::int64_t end, const auto& put) {
    Vector sum[Keys][row_vectors] = {};
#pragma GCC unroll 4
    for (std::int64_t c = begin; c < end; ++c) {
      Vector q[row_vectors];
#pragma GCC unroll 2
      for (int x = 0; x < row_vectors; ++x) q[x] = load(query + c * row_tile + x * lanes);
#pragma GCC unroll 16
      for (int j = 0; j < Keys; ++j) {
#pragma GCC unroll 2
        for (int x = 0; x < row_vectors; ++x) sum[j][x] += q[x] * splat(key[j * stride + c]);
      }
    }
#pragma GCC unroll 16
    for (int j = 0; j < Keys; ++j) {
#pragma GCC unroll 2
      for (int x = 0; x < row_vectors; ++x) put(scores + j * row_tile + x * lanes, sum[j][x]);
    }
  };
  if (middle > 0) add(0, middle, [](float* score, Vector sum) { store(score, sum); });
  add(middle, d,
      [&](float* score, Vector sum) { store(score, middle > 0 ? load(score) + sum : sum); });
}

/// scores[key][row] = sum over c of query[c][row] * key[key][c]. `Dim` is the head dimension and
/// the stride of the keys if both are known, else 0.
template <int Dim>
ATTNSCOPE_INLINE void score_tile(const float* query, const float* keys, std::int64_t stride,
                                 std::int64_t d, std::int64_t count, float* scores) {
  if constexpr (Dim > 0) stride = d = Dim;
  const auto step = [&]<int Keys>(std::int64_t j) {
    score_step<Keys>(query, keys + j * stride, stride, d, scores + j * row_tile);
  };
  std::int64_t j = 0;
  for (; j + key_step <= count; j += key_step) step.template operator()<key_step>(j);
  if (j == count) return;
  // The last step repeats keys of the previous one if that keeps it wide: a key's score does not
  // depend on the other keys of the step.
  if (key_step > 8 && count - j > 8 && count >= key_step) {
    step.template operator()<key_step>(count - key_step);
    return;
  }
  if (count - j > 4 && count >= 8) {
    if (count - j > 8) step.template operator()<4>(j);
    step.template operator()<8>(count - 8);
    return;
  }
  if (count >= 4) {
    if (count - j > 4) step.template operator()<4>(j);
    step.template operator()<4>(count - 4);
    return;
  }
  for (; j < count; ++j) step.template operator()<1>(j);
}

/// One row's scores: scores[key] = query . key. Rows of query and keys are padded with zeros to
/// `padded` floats, a multiple of the lanes; keys are `pitch` floats apart.
ATTNSCOPE_INLINE void score_row(const float* query, const float* keys, std::int64_t pitch,
                                std::int64_t padded, std::int64_t count, float* scores) {
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    Vector sum[lanes] = {};
    for (std::int64_t c = 0; c < padded; c += lanes) {
      const Vector q = load(query + c);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) sum[i] += q * load(keys + (j + i) * pitch + c);
    }
    store(scores + j, sums_of(sum));
  }
  for (; j + 4 <= count; j += 4) {
    const float* key = keys + j * pitch;
    Vector s0{}, s1{}, s2{}, s3{};
    for (std::int64_t c = 0; c < padded; c += lanes) {
      const Vector q = load(query + c);
      s0 += q * load(key + c);
      s1 += q * load(key + pitch + c);
      s2 += q * load(key + 2 * pitch + c);
      s3 += q * load(key + 3 * pitch + c);
    }
    Vector4 f0 = folded(s0), f1 = folded(s1), f2 = folded(s2), f3 = folded(s3);
    transpose4(f0, f1, f2, f3);
    store4(scores + j, (f0 + f1) + (f2 + f3));
  }
  for (; j < count; ++j) {
    Vector sum{};
    for (std::int64_t c = 0; c < padded; c += lanes) {
      sum += load(query + c) * load(keys + j * pitch + c);
    }
    const Vector4 f = folded(sum);
    scores[j] = (f[0] + f[1]) + (f[2] + f[3]);
  }
}

ATTNSCOPE_INLINE void score_row(const float* query, const float* keys, std::int64_t padded,
                                std::int64_t count, float* scores) {
  score_row(query, keys, padded, padded, count, scores);
}

/// sum[g][x] += weight[g][j * weight_stride] * value[j][x] over j < count.
template <int Group, int Width>
ATTNSCOPE_INLINE void add_values(const float* const* weight, std::int64_t weight_stride,
                                 const float* values, std::int64_t padded, std::int64_t count,
                                 Vector (&sum)[Group][Width]) {
#pragma GCC unroll 2
  for (std::int64_t j = 0; j < count; ++j) {
    Vector v[Width];
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) v[x] = load(values + j * padded + x * lanes);
#pragma GCC unroll 8
    for (int g = 0; g < Group; ++g) {
      const Vector p = splat(weight[g][j * weight_stride]);
#pragma GCC unroll 4
      for (int x = 0; x < Width; ++x) sum[g][x] += p * v[x];
    }
  }
}

/// Sums to which add_values_in_streams() adds the keys in turn: with one, each of the eight sums of
/// a group is limited by its own latency, and an AVX-512 core reaches 84% of its rate instead of
/// 98%. Sets with 16 registers have no registers left for a second.
constexpr int value_streams = lanes == 16 ? 2 : 1;

/// Like add_values(), but key j is added to stream j % value_streams, and the streams are added at
/// the end.
template <int Group, int Width>
ATTNSCOPE_INLINE void add_values_in_streams(const float* const* weight, std::int64_t weight_stride,
                                            const float* values, std::int64_t padded,
                                            std::int64_t count, Vector (&sum)[Group][Width]) {
  if constexpr (value_streams == 1) {
    add_values(weight, weight_stride, values, padded, count, sum);
    return;
  }
  Vector other[Group][Width] = {};
  std::int64_t j = 0;
  for (; j + 2 <= count; j += 2) {
    Vector v[2][Width];
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) {
      v[0][x] = load(values + j * padded + x * lanes);
      v[1][x] = load(values + (j + 1) * padded + x * lanes);
    }
#pragma GCC unroll 4
    for (int g = 0; g < Group; ++g) {
      const Vector p = splat(weight[g][j * weight_stride]);
      const Vector q = splat(weight[g][(j + 1) * weight_stride]);
#pragma GCC unroll 4
      for (int x = 0; x < Width; ++x) {
        sum[g][x] += p * v[0][x];
        other[g][x] += q * v[1][x];
      }
    }
  }
  if (j < count) {
#pragma GCC unroll 4
    for (int g = 0; g < Group; ++g) {
      const Vector p = splat(weight[g][j * weight_stride]);
#pragma GCC unroll 4
      for (int x = 0; x < Width; ++x) sum[g][x] += p * load(values + j * padded + x * lanes);
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < Group; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) sum[g][x] += other[g][x];
  }
}

/// One row: four keys at a time in separate sums, because a single chain would be limited by
/// latency.
template <int Width>
ATTNSCOPE_INLINE void add_values_to_row(const float* weight, const float* values,
                                        std::int64_t pitch, std::int64_t count, float* out) {
  Vector sum[4][Width] = {};
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) sum[0][x] = load(out + x * lanes);
  std::int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vector p = splat(weight[j + i]);
#pragma GCC unroll 4
      for (int x = 0; x < Width; ++x) {
        sum[i][x] += p * load(values + (j + i) * pitch + x * lanes);
      }
    }
  }
  for (; j < count; ++j) {
    const Vector p = splat(weight[j]);
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) sum[0][x] += p * load(values + j * pitch + x * lanes);
  }
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) {
    store(out + x * lanes, (sum[0][x] + sum[1][x]) + (sum[2][x] + sum[3][x]));
  }
}

/// out[0 ... padded) += sum over keys of weight[key] * value[key], the values `pitch` floats apart.
ATTNSCOPE_INLINE void add_values_to_row(const float* weight, const float* values,
                                        std::int64_t pitch, std::int64_t padded, std::int64_t count,
                                        float* out) {
  std::int64_t c = 0;
  for (; c + 2 * lanes <= padded; c += 2 * lanes) {
    add_values_to_row<2>(weight, values + c, pitch, count, out + c);
  }
  if (c < padded) add_values_to_row<1>(weight, values + c, pitch, count, out + c);
}

ATTNSCOPE_INLINE void add_values_to_row(const float* weight, const float* values,
                                        std::int64_t padded, std::int64_t count, float* out) {
  add_values_to_row(weight, values, padded, padded, count, out);
}

}  // namespace
}  // namespace attnscope::cpu
