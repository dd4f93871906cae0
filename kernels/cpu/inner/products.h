// SPDX-License-Identifier: Apache-2.0
//
// The two register-blocked products. Scores put query rows in the lanes (the query transposed once
// a tile, keys broadcast as they lie in memory), so that maxima and sums over keys need no
// shuffles. Values put the head dimension in the lanes, so that outputs lie as they are stored and
// a few rows share each value they load.
#pragma once

#include "kernels/cpu/inner/rows.h"

namespace attnscope::cpu {
namespace {

/// Rows of a tile: one vector; two where a vector is so narrow that broadcasts would dominate.
constexpr int row_vectors = lanes == 4 ? 2 : 1;
constexpr int row_tile = lanes * row_vectors;
/// Rows that share the values they load: finer than the tile, because at w = 4 a row sees 9 keys
/// of the tile's 24 and a group of 4 rows touches 12.
constexpr int row_group = 4;
/// Tiles of this many rows or fewer go row by row, with keys in the lanes.
constexpr int few_rows = row_tile / 8;
/// Keys a step of the score product: accumulators that hide the latency of a multiply-add.
constexpr int key_step = lanes == 4 ? 4 : 8;

/// Transposes `rows` rows of d floats at row[r] to out[c * row_tile + r], times `scale`; lanes
/// beyond `rows` repeat the last row, so that no lane holds arbitrary bits.
ATTNSCOPE_INLINE void transpose_rows(const float* const* row, std::int64_t d, float scale,
                                     float* out) {
  const Vector4 factor = scale - Vector4{};
  for (int r = 0; r < row_tile; r += 4) {
    std::int64_t c = 0;
    for (; c + 4 <= d; c += 4) {
      Vector4 a0 = load4(row[r] + c), a1 = load4(row[r + 1] + c);
      Vector4 a2 = load4(row[r + 2] + c), a3 = load4(row[r + 3] + c);
      transpose4(a0, a1, a2, a3);
      store4(out + c * row_tile + r, a0 * factor);
      store4(out + (c + 1) * row_tile + r, a1 * factor);
      store4(out + (c + 2) * row_tile + r, a2 * factor);
      store4(out + (c + 3) * row_tile + r, a3 * factor);
    }
    for (; c < d; ++c) {
      for (int i = 0; i < 4; ++i) out[c * row_tile + r + i] = row[r + i][c] * scale;
    }
  }
}

/// scores[key][row] for `Keys` keys that lie `stride` floats apart.
template <int Keys>
ATTNSCOPE_INLINE void score_step(const float* query, const float* key, std::int64_t stride,
                                 std::int64_t d, float* scores) {
  Vector sum[Keys][row_vectors] = {};
#pragma GCC unroll 4
  for (std::int64_t c = 0; c < d; ++c) {
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
    for (int x = 0; x < row_vectors; ++x) store(scores + j * row_tile + x * lanes, sum[j][x]);
  }
}

/// scores[key][row] = sum over c of query[c][row] * key[key][c]. `Dim` is the head dimension and
/// the stride of the keys where both are known, else 0.
template <int Dim>
ATTNSCOPE_INLINE void score_tile(const float* query, const float* keys, std::int64_t stride,
                                 std::int64_t d, std::int64_t count, float* scores) {
  if constexpr (Dim > 0) stride = d = Dim;
  std::int64_t j = 0;
  for (; j + key_step <= count; j += key_step) {
    score_step<key_step>(query, keys + j * stride, stride, d, scores + j * row_tile);
  }
  if (j + 4 <= count) {
    score_step<4>(query, keys + j * stride, stride, d, scores + j * row_tile);
    j += 4;
  }
  for (; j < count; ++j) {
    score_step<1>(query, keys + j * stride, stride, d, scores + j * row_tile);
  }
}

/// One row's scores: scores[key] = query . key. Rows of query and keys are padded with zeros to
/// `padded` floats, a multiple of the lanes.
ATTNSCOPE_INLINE void score_row(const float* query, const float* keys, std::int64_t padded,
                                std::int64_t count, float* scores) {
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    Vector sum[lanes] = {};
    for (std::int64_t c = 0; c < padded; c += lanes) {
      const Vector q = load(query + c);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) sum[i] += q * load(keys + (j + i) * padded + c);
    }
    store(scores + j, sums_of(sum));
  }
  for (; j + 4 <= count; j += 4) {
    const float* key = keys + j * padded;
    Vector s0{}, s1{}, s2{}, s3{};
    for (std::int64_t c = 0; c < padded; c += lanes) {
      const Vector q = load(query + c);
      s0 += q * load(key + c);
      s1 += q * load(key + padded + c);
      s2 += q * load(key + 2 * padded + c);
      s3 += q * load(key + 3 * padded + c);
    }
    Vector4 f0 = folded(s0), f1 = folded(s1), f2 = folded(s2), f3 = folded(s3);
    transpose4(f0, f1, f2, f3);
    store4(scores + j, (f0 + f1) + (f2 + f3));
  }
  for (; j < count; ++j) {
    Vector sum{};
    for (std::int64_t c = 0; c < padded; c += lanes) {
      sum += load(query + c) * load(keys + j * padded + c);
    }
    const Vector4 f = folded(sum);
    scores[j] = (f[0] + f[1]) + (f[2] + f[3]);
  }
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
#pragma GCC unroll 4
    for (int g = 0; g < Group; ++g) {
      const Vector p = splat(weight[g][j * weight_stride]);
#pragma GCC unroll 4
      for (int x = 0; x < Width; ++x) sum[g][x] += p * v[x];
    }
  }
}

/// One row: four keys at a time in sums of their own, because one chain would wait for itself.
template <int Width>
ATTNSCOPE_INLINE void add_values_to_row(const float* weight, const float* values,
                                        std::int64_t padded, std::int64_t count, float* out) {
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
        sum[i][x] += p * load(values + (j + i) * padded + x * lanes);
      }
    }
  }
  for (; j < count; ++j) {
    const Vector p = splat(weight[j]);
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) sum[0][x] += p * load(values + j * padded + x * lanes);
  }
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) {
    store(out + x * lanes, (sum[0][x] + sum[1][x]) + (sum[2][x] + sum[3][x]));
  }
}

/// out[0 ... padded) += sum over keys of weight[key] * value[key].
ATTNSCOPE_INLINE void add_values_to_row(const float* weight, const float* values,
                                        std::int64_t padded, std::int64_t count, float* out) {
  std::int64_t c = 0;
  for (; c + 2 * lanes <= padded; c += 2 * lanes) {
    add_values_to_row<2>(weight, values + c, padded, count, out + c);
  }
  if (c < padded) add_values_to_row<1>(weight, values + c, padded, count, out + c);
}

}  // namespace
}  // namespace attnscope::cpu
