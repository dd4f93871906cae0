// SPDX-License-Identifier: Apache-2.0
//
// The scores step with keys in the lanes: keys are transposed once per chunk, and a group of rows
// against a few vectors of keys gives each row's scores consecutively, as the band stores them. At
// w = 4 eight rows attend to 16 keys: one vector of AVX-512, of which 9/16 are used.
#pragma once

#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/inner/windowed_rows.h"

namespace attnscope::cpu {
namespace {

/// Two vectors of keys have as many sums as fit into registers, and enough to hide their latency.
constexpr int score_rows = lanes == 16 ? 8 : 4;

/// Vectors are read past a block's last key; these values are not used.
constexpr std::int64_t keys_beyond = 2 * lanes;

/// Transposed keys of a block: piece_floats, and the padding of a row of keys.
constexpr std::int64_t transposed_floats = piece_floats + largest_head_dim * 3 * 16;

/// Four vectors, each with 4 floats of lanes / 4 rows; afterwards each vector has one float of
/// every row, rows in order.
ATTNSCOPE_INLINE void transpose_quarters(Vector& a, Vector& b, Vector& c, Vector& d) {
#if defined(__AVX512F__)
#define ATTNSCOPE_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define ATTNSCOPE_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#elif defined(__AVX2__)
#define ATTNSCOPE_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define ATTNSCOPE_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#else
#define ATTNSCOPE_LOW 0, 4, 1, 5
#define ATTNSCOPE_HIGH 2, 6, 3, 7
#endif
  const Vector ac = __builtin_shufflevector(a, c, ATTNSCOPE_LOW);
  const Vector bd = __builtin_shufflevector(b, d, ATTNSCOPE_LOW);
  const Vector ac_high = __builtin_shufflevector(a, c, ATTNSCOPE_HIGH);
  const Vector bd_high = __builtin_shufflevector(b, d, ATTNSCOPE_HIGH);
  a = __builtin_shufflevector(ac, bd, ATTNSCOPE_LOW);
  b = __builtin_shufflevector(ac, bd, ATTNSCOPE_HIGH);
  c = __builtin_shufflevector(ac_high, bd_high, ATTNSCOPE_LOW);
  d = __builtin_shufflevector(ac_high, bd_high, ATTNSCOPE_HIGH);
#undef ATTNSCOPE_LOW
#undef ATTNSCOPE_HIGH
}

/// Floats c ... c + 3 of rows `first`, `first` + 4, ...
ATTNSCOPE_INLINE Vector load_quarters(const float* const* row, int first, std::int64_t c) {
#if defined(__AVX512F__)
  const auto low = __builtin_shufflevector(load4(row[first] + c), load4(row[first + 4] + c), 0, 1,
                                           2, 3, 4, 5, 6, 7);
  const auto high = __builtin_shufflevector(load4(row[first + 8] + c), load4(row[first + 12] + c),
                                            0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(__AVX2__)
  return __builtin_shufflevector(load4(row[first] + c), load4(row[first + 4] + c), 0, 1, 2, 3, 4, 5,
                                 6, 7);
#else
  return load4(row[first] + c);
#endif
}

/// One vector of keys: to[c * stride + lane] = row[lane][c].
ATTNSCOPE_INLINE void transpose_keys(const float* const* row, std::int64_t d, std::int64_t stride,
                                     float* to) {
  std::int64_t c = 0;
  for (; c + 4 <= d; c += 4) {
    Vector v0 = load_quarters(row, 0, c), v1 = load_quarters(row, 1, c);
    Vector v2 = load_quarters(row, 2, c), v3 = load_quarters(row, 3, c);
    transpose_quarters(v0, v1, v2, v3);
    store(to + c * stride, v0);
    store(to + (c + 1) * stride, v1);
    store(to + (c + 2) * stride, v2);
    store(to + (c + 3) * stride, v3);
  }
  for (; c < d; ++c) {
    for (int lane = 0; lane < lanes; ++lane) to[c * stride + lane] = row[lane][c];
  }
}

struct TransposedKeys {
  const float* floats;  // [d][stride]
  std::int64_t stride;
};

/// The block's keys; float32 keys are read in place. `packed` is the memory for others.
inline TransposedKeys transposed_keys(const WindowedChunk& chunk, const KeyBlock& block,
                                      float* packed, float* transposed) {
  const HeadView<const std::byte>& k = chunk.rows.k;
  const std::int64_t d = chunk.rows.head_dim;
  const bool in_place = k.dtype == DType::float32 && !block.segment->keys.listed;
  const float* keys =
      in_place ? floats_at(k, offset_of(k, block.first))
               : packed_rows(k, chunk.rows, *block.segment, block.first, block.count, packed);
  const std::int64_t apart = in_place ? k.token_stride : padded_dim(d);
  const std::int64_t stride = (block.count + lanes - 1) / lanes * lanes + keys_beyond;
  for (std::int64_t j = 0; j < block.count; j += lanes) {
    const float* row[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      row[lane] = keys + least(j + lane, block.count - 1) * apart;
      if (in_place && apart != d && j + lane + lanes < block.count) {
        for (std::int64_t c = 0; c < d; c += 16) __builtin_prefetch(row[lane] + lanes * apart + c);
      }
    }
    transpose_keys(row, d, stride, transposed + j);
  }
  for (std::int64_t c = 0; c < d; ++c) {
    for (std::int64_t j = stride - keys_beyond; j < stride; j += lanes) {
      store(transposed + c * stride + j, Vector{});
    }
  }
  return {transposed, stride};
}

/// sum[g][v] of row g and the v-th vector of keys from `keys` on.
template <int Dim, int Vectors>
ATTNSCOPE_INLINE void score_panel(const float* query, const float* keys, std::int64_t stride,
                                  std::int64_t d, std::int64_t padded,
                                  Vector (&sum)[score_rows][Vectors]) {
#pragma GCC unroll 2
  for (std::int64_t c = 0; c < d; ++c) {
    Vector k[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) k[v] = load(keys + c * stride + v * lanes);
#pragma GCC unroll 8
    for (int g = 0; g < score_rows; ++g) {
      const Vector q = splat(query[g * padded + c]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[g][v] += q * k[v];
    }
  }
}

#if defined(__AVX2__)
/// Moves lanes `by` ... lanes - 1 to the lanes from 0 on.
ATTNSCOPE_INLINE Vector moved_down(Vector v, int by) {
  static constexpr std::int32_t numbers[2 * lanes] = {
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
#if defined(__AVX512F__)
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
#endif
  };
  return __builtin_shuffle(v, load(numbers + by));
}
#endif

/// Writes the scores of `seen` keys, the first of which is in lane `before` of the row's vector 0;
/// `v` is its vector number `number`.
ATTNSCOPE_INLINE void put_scores(Vector v, std::int64_t number, std::int64_t before,
                                 std::int64_t seen, float* scores) {
  const std::int64_t at = number * lanes - before;
  if (at >= 0) {
    if (at + lanes <= seen) {
      store(scores + at, v);
    } else if (at < seen) {
      store_first(scores + at, seen - at, v);
    }
    return;
  }
#if defined(__AVX2__)
  if (-at < lanes) {
    store_first(scores, least(seen, lanes + at), moved_down(v, static_cast<int>(-at)));
  }
#else
  for (std::int64_t lane = -at; lane < lanes && at + lane < seen; ++lane) {
    scores[at + lane] = v[lane];
  }
#endif
}

template <int Dim, int Vectors>
ATTNSCOPE_INLINE void score_vectors(const WindowedChunk& chunk, const RowWindows<score_rows>& seen,
                                    int rows, const float* query, const TransposedKeys& keys,
                                    std::int64_t number) {
  const std::int64_t d = Dim > 0 ? Dim : chunk.rows.head_dim;
  Vector sum[score_rows][Vectors] = {};
  score_panel<Dim, Vectors>(query, keys.floats + seen.begin[0] + number * lanes, keys.stride, d,
                            padded_dim(d), sum);
#pragma GCC unroll 8
  for (int g = 0; g < score_rows; ++g) {
    if (g >= rows) break;
    float* scores = chunk.scores + (seen.score[g] + seen.begin[g]);
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      put_scores(sum[g][v], number + v, seen.begin[g] - seen.begin[0], seen.end[g] - seen.begin[g],
                 scores);
    }
  }
}

/// Scores of all rows against one block; `queries` are the chunk's, scaled, padded rows.
template <int Dim>
inline void score_block_by_groups(const WindowedChunk& chunk, const KeyBlock& block,
                                  const float* queries, const TransposedKeys& keys) {
  const std::int64_t count = row_count(chunk.rows);
  const std::int64_t padded = padded_dim(Dim > 0 ? Dim : chunk.rows.head_dim);
  for (std::int64_t first = 0; first < count; first += score_rows) {
    const int rows = static_cast<int>(least(count - first, score_rows));
    RowWindows<score_rows> seen;
    find_windows(chunk, block, first, rows, seen);
    const std::int64_t vectors = (seen.end[rows - 1] - seen.begin[0] + lanes - 1) / lanes;
    std::int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) {
      score_vectors<Dim, 2>(chunk, seen, rows, queries + first * padded, keys, v);
    }
    if (v < vectors) score_vectors<Dim, 1>(chunk, seen, rows, queries + first * padded, keys, v);
  }
}

/// The chunk's rows times the scale, padded, with zeros up to a whole group.
inline void load_queries(const WindowedChunk& chunk, float* queries) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t count = row_count(rows), padded = padded_dim(rows.head_dim);
  const std::int64_t grouped = (count + score_rows - 1) / score_rows * score_rows;
  for_each_row(rows.q, rows.queries, rows.indices, [&](std::int64_t r, std::int64_t offset) {
    load_row(rows.q, offset, rows.head_dim, padded, queries + r * padded);
    for (std::int64_t c = 0; c < padded; c += lanes) {
      store(queries + r * padded + c, load(queries + r * padded + c) * rows.scale);
    }
  });
  fill(queries + count * padded, (grouped - count) * padded, 0.0f);
}

/// Used for so few rows that transposing their keys would cost more than it saves.
inline void score_block_by_rows(const WindowedChunk& chunk, const KeyBlock& block,
                                const float* queries, float* buffer) {
  const std::int64_t padded = padded_dim(chunk.rows.head_dim);
  const float* keys =
      packed_rows(chunk.rows.k, chunk.rows, *block.segment, block.first, block.count, buffer);
  for (std::int64_t row = 0; row < row_count(chunk.rows); ++row) {
    RowWindows<1> seen;
    find_windows(chunk, block, row, 1, seen);
    const std::int64_t count = seen.end[0] - seen.begin[0];
    if (count <= 0) continue;
    score_row(queries + row * padded, keys + seen.begin[0] * padded, padded, count,
              chunk.scores + (seen.score[0] + seen.begin[0]));
  }
}

template <int Dim>
inline void run_windowed_scores(const WindowedChunk& chunk) {
  alignas(64) float queries[buffer_floats];
  alignas(64) float packed[buffer_floats];
  load_queries(chunk, queries);
  const std::int64_t limit = block_keys(chunk.rows.head_dim);
  if (row_count(chunk.rows) <= few_rows) {
    for_each_block(chunk, limit, [&](const KeyBlock& block) {
      score_block_by_rows(chunk, block, queries, packed);
    });
  } else {
    alignas(64) float transposed[transposed_floats];
    for_each_block(chunk, limit, [&](const KeyBlock& block) {
      score_block_by_groups<Dim>(chunk, block, queries,
                                 transposed_keys(chunk, block, packed, transposed));
    });
  }
  mark_outside(chunk);
}

void windowed_scores(const WindowedChunk& chunk) {
  switch (chunk.rows.head_dim) {
    case 32:
      return run_windowed_scores<32>(chunk);
    case 64:
      return run_windowed_scores<64>(chunk);
    default:
      return run_windowed_scores<0>(chunk);
  }
}

// The values step: a group of rows shares each value it loads.

/// Adds the values of positions [begin, end) of the block to a group of rows.
ATTNSCOPE_INLINE void add_stretch(const WindowedChunk& chunk, const RowWindows<group_size>& seen,
                                  std::int64_t begin, std::int64_t end, int rows,
                                  const float* values, std::int64_t padded, float* const* out) {
  const float* weights = chunk.scores;
  if (rows == 1) {
    const std::int64_t first = most(seen.begin[0], begin), last = least(seen.end[0], end);
    return add_values_to_row(weights + (seen.score[0] + first), values + first * padded, padded,
                             most(last - first, 0), out[0]);
  }
  GroupWindow window;
  for (int g = 0; g < group_size; ++g) {
    window.begin[g] = clamped(seen.begin[g], begin, end);
    window.end[g] = clamped(seen.end[g], begin, end);
  }
  add_windows_to(
      window, [&](int g, std::int64_t p) { return weights[seen.score[g] + p]; }, values, padded,
      rows, out);
}

inline void add_block(const WindowedChunk& chunk, const KeyBlock& block, const float* values,
                      float* outputs) {
  const std::int64_t count = row_count(chunk.rows), padded = padded_dim(chunk.rows.head_dim);
  for (std::int64_t first = 0; first < count; first += group_size) {
    const int rows = static_cast<int>(least(count - first, group_size));
    RowWindows<group_size> seen;
    find_windows(chunk, block, first, rows, seen);
    float* out[group_size];
    for (int g = 0; g < rows; ++g) out[g] = outputs + (first + g) * padded;
    for_each_kept(*block.segment, chunk.rows.indices, block.first + seen.begin[0],
                  block.first + seen.end[rows - 1], [&](std::int64_t begin, std::int64_t end) {
                    add_stretch(chunk, seen, begin - block.first, end - block.first, rows, values,
                                padded, out);
                  });
  }
}

void windowed_values(const WindowedChunk& chunk) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t count = row_count(rows), padded = padded_dim(rows.head_dim);
  alignas(64) float outputs[buffer_floats];
  alignas(64) float buffer[buffer_floats];
  std::memset(outputs, 0, sizeof(float) * static_cast<std::size_t>(count * padded));
  for_each_block(chunk, block_keys(rows.head_dim), [&](const KeyBlock& block) {
    add_block(chunk, block,
              packed_rows(rows.v, rows, *block.segment, block.first, block.count, buffer), outputs);
  });
  for_each_row(rows.o, rows.queries, rows.indices, [&](std::int64_t r, std::int64_t offset) {
    store_row(outputs + r * padded, rows.head_dim, rows.scale, rows.o, offset);
  });
}

}  // namespace
}  // namespace attnscope::cpu
