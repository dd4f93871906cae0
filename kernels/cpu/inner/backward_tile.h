// SPDX-License-Identifier: Apache-2.0
//
// The backward pass on one tile of rows and a few pieces of keys. Scores and their gradients are
// stored as [key][row], as in the forward pass: the two products that compute them are score_tile()
// with queries against keys and with incoming gradients against values; the three that use them are
// add_values() with keys as rows, and with rows as keys.
#pragma once

#include "kernels/cpu/inner/keys.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

constexpr int most_backward_pieces = 16;

/// Where gradients of keys and values are summed: key j's in row j or, if the keys are listed and
/// the rows correspond to tokens, in row list[j] - origin. Not summed if `keys` is null.
struct KeyGradients {
  float* keys;
  float* values;
  const std::int64_t* list;
  std::int64_t origin;
};

ATTNSCOPE_INLINE std::int64_t gradient_row(const KeyGradients& to, std::int64_t key) {
  return to.list == nullptr ? key : to.list[key] - to.origin;
}

/// Packed keys, with the window of each row of the tile.
struct BackwardPiece {
  const Segment* segment;
  std::int64_t first;  // position of key 0 in the segment's run
  const float* keys;
  const float* values;
  KeyGradients gradients;
  TileWindow window;
  std::int32_t first_score;  // of key window.any_begin
};

/// Up to row_tile rows of one task. Rows of `queries` and `arriving` are padded with zeros to
/// `padded` floats.
struct BackwardTile {
  std::int64_t first_row;  // position in the task's run
  int rows;
  float *queries_t, *arriving_t;  // transposed; for few rows: scaled queries as rows, and unused
  StridedRows queries, arriving;  // not transposed, in the tensor or in their buffer
  float *query_buffer, *arriving_buffer;
  float* gradients;
  float *shift, *delta;  // log-sum-exp in units of log 2 (+inf without keys), and D
};

struct BackwardWork {
  const BackwardUnit* unit;
  std::int64_t d, padded, pitch;
  bool careful;
  Vector nonfinite;  // 0 while every gradient is finite, else NaN
  RowChunk rows;     // of the task, for tile_window()
  BackwardTile tile;
  float *scores, *score_gradients;
  BackwardPiece pieces[most_backward_pieces];
  int piece_count;
  std::int32_t score_count;
};

/// x - x is 0 for every finite x and NaN for all others, and NaN persists in a sum.
ATTNSCOPE_INLINE void note_strange(BackwardWork& work, const float* row) {
  for (std::int64_t c = 0; c < work.padded; c += lanes) {
    work.nonfinite += load(row + c) - load(row + c);
  }
}

ATTNSCOPE_INLINE void zero(float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes) store(to + i, Vector{});
}

ATTNSCOPE_INLINE bool has_few_rows(const BackwardTile& tile) {
  return tile.rows <= few_rows;
}

/// Whether tokens [begin, end) are a token_stride apart, within one item.
template <typename Byte>
ATTNSCOPE_INLINE bool is_one_run(const HeadView<Byte>& view, std::int64_t begin, std::int64_t end) {
  return view.item_tokens == 0 || begin / view.item_tokens == (end - 1) / view.item_tokens;
}

/// Offsets of `count` tokens starting at `begin`.
template <typename Byte>
ATTNSCOPE_INLINE void token_offsets(const HeadView<Byte>& view, std::int64_t begin,
                                    std::int64_t count, std::int64_t* at) {
  const bool one_run = is_one_run(view, begin, begin + count);
  const std::int64_t first = offset_of(view, begin);
  for (std::int64_t i = 0; i < count; ++i) {
    at[i] = one_run ? first + i * view.token_stride : offset_of(view, begin + i);
  }
}

/// Offsets of rows [first_row, first_row + rows) of the task.
template <typename Byte>
ATTNSCOPE_INLINE void row_offsets(const HeadView<Byte>& view, const RowChunk& chunk,
                                  std::int64_t first_row, int rows, std::int64_t* at) {
  if (!chunk.queries.listed) {
    return token_offsets(view, chunk.queries.begin + first_row, rows, at);
  }
  for (int r = 0; r < rows; ++r) {
    at[r] = offset_of(view, token_of(chunk.queries, chunk.indices, first_row + r));
  }
}

/// Rows of a tile: in place if they are padded float32 rows with a fixed stride, otherwise copied
/// to `buffer`. Prefetches those of the next tile.
ATTNSCOPE_INLINE StridedRows rows_of_tile(const BackwardWork& work,
                                          const HeadView<const std::byte>& view,
                                          std::int64_t first_row, int rows, float* buffer) {
  std::int64_t at[row_tile];
  row_offsets(view, work.rows, first_row, rows, at);
  if (view.token_stride != work.d) {
    for (int r = 0; r < rows; ++r) {
      prefetch_row(view, at[r] + row_tile * view.token_stride, work.d);
    }
  }
  if (view.dtype == DType::float32 && work.d == work.padded && !work.rows.queries.listed &&
      at[rows - 1] == at[0] + (rows - 1) * view.token_stride) {
    return {floats_at(view, at[0]), view.token_stride};
  }
  for (int r = 0; r < rows; ++r) {
    load_row(view, at[r], work.d, work.padded, buffer + r * work.padded);
  }
  return {buffer, work.padded};
}

/// D of a tile's rows: the product of incoming gradient and output.
ATTNSCOPE_INLINE void load_deltas(const BackwardWork& work, const StridedRows& o) {
  const BackwardTile& tile = work.tile;
  for (int r = 0; r < tile.rows; r += 4) {
    Vector sum[4] = {};
    for (int i = 0; i < 4; ++i) {
      const std::int64_t row = least(r + i, tile.rows - 1);
      for (std::int64_t c = 0; c < work.padded; c += lanes) {
        sum[i] += load(o[row] + c) * load(tile.arriving[row] + c);
      }
    }
    Vector4 f0 = folded(sum[0]), f1 = folded(sum[1]), f2 = folded(sum[2]), f3 = folded(sum[3]);
    transpose4(f0, f1, f2, f3);
    store4(tile.delta + r, (f0 + f1) + (f2 + f3));
  }
}

/// Loads a tile's rows and their results of the softmax.
inline void load_tile(BackwardWork& work, std::int64_t first_row, int rows) {
  const BackwardUnit& unit = *work.unit;
  BackwardTile& tile = work.tile;
  tile.first_row = first_row;
  tile.rows = rows;
  tile.queries = rows_of_tile(work, unit.q, first_row, rows, tile.query_buffer);
  tile.arriving = rows_of_tile(work, unit.grad_o, first_row, rows, tile.arriving_buffer);
  // The rows of `gradients` are unused until the first product.
  load_deltas(work, rows_of_tile(work, unit.o, first_row, rows, tile.gradients));
  const float* query[row_tile];
  const float* arriving[row_tile];
  for (int r = 0; r < row_tile; ++r) {
    query[r] = tile.queries[least(r, rows - 1)];
    arriving[r] = tile.arriving[least(r, rows - 1)];
    tile.shift[r] = infinity;
    if (r >= rows) continue;
    const std::int64_t token = token_of(work.rows.queries, work.rows.indices, first_row + r);
    const float lse = unit.lse[token * unit.lse_stride];
    tile.shift[r] = lse == -infinity ? infinity : lse * static_cast<float>(log2_e);
  }
  const float scale = unit.scale * static_cast<float>(log2_e);
  if (has_few_rows(tile)) {
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < work.padded; c += lanes) {
        store(tile.queries_t + r * work.padded + c, load(query[r] + c) * scale);
      }
    }
  } else {
    transpose_rows(query, work.d, scale, tile.queries_t);
    transpose_rows(arriving, work.d, 1.0f, tile.arriving_t);
  }
  zero(tile.gradients, rows * work.padded);
}

/// Scores of a piece, with forbidden pairs at -inf, and gradients of its weights.
template <int Dim>
ATTNSCOPE_INLINE void score_piece(BackwardWork& work, const BackwardPiece& piece) {
  const TileWindow& window = piece.window;
  const std::int64_t at = window.any_begin * work.padded;
  const std::int32_t count = window.any_end - window.any_begin;
  float* scores = work.scores + piece.first_score * row_tile;
  score_tile<Dim>(work.tile.queries_t, piece.keys + at, work.padded, work.d, count, scores);
  score_tile<Dim>(work.tile.arriving_t, piece.values + at, work.padded, work.d, count,
                  work.score_gradients + piece.first_score * row_tile);
}

ATTNSCOPE_INLINE void mask_piece(BackwardWork& work, const BackwardPiece& piece, float value) {
  const TileWindow& window = piece.window;
  float* scores = work.scores + piece.first_score * row_tile;
  for_each_skipped(*piece.segment, work.rows.indices, piece.first + window.any_begin,
                   piece.first + window.any_end, [&](std::int64_t position) {
                     float* s = scores + (position - piece.first - window.any_begin) * row_tile;
                     for (int x = 0; x < row_vectors; ++x) store(s + x * lanes, splat(value));
                   });
  mask_edges(window, scores, value);
}

/// Replaces scores with weights P = exp2(s - lse), and gradients of weights with those of scores, P
/// (dP - D).
ATTNSCOPE_INLINE void weigh_tile(BackwardWork& work) {
  for (int x = 0; x < row_vectors; ++x) {
    const Vector shift = load(work.tile.shift + x * lanes);
    const Vector delta = load(work.tile.delta + x * lanes);
    float* scores = work.scores + x * lanes;
    float* gradients = work.score_gradients + x * lanes;
#pragma GCC unroll 2
    for (std::int32_t j = 0; j < work.score_count; ++j) {
      const Vector p = exp2_of(load(scores + j * row_tile) - shift);
      store(scores + j * row_tile, p);
      store(gradients + j * row_tile, p * (load(gradients + j * row_tile) - delta));
    }
  }
}

/// The keys of a piece to which rows [row, row + Rows) of the tile attend, from window.any_begin.
template <int Rows>
ATTNSCOPE_INLINE Positions seen_by_rows(const TileWindow& window, int row) {
  const std::int64_t begin = window.begin[row];
  const std::int64_t end = least(window.end[row + Rows - 1], window.any_end);
  return {begin - window.any_begin, most(begin, end) - window.any_begin};
}

template <int Rows, int Width>
ATTNSCOPE_INLINE void add_query_gradients(const BackwardWork& work, int row, std::int64_t column) {
  Vector sum[Rows][Width];
  float* out = work.tile.gradients + row * work.padded + column;
#pragma GCC unroll 8
  for (int g = 0; g < Rows; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) sum[g][x] = load(out + g * work.padded + x * lanes);
  }
  for (int i = 0; i < work.piece_count; ++i) {
    const BackwardPiece& piece = work.pieces[i];
    const Positions seen = seen_by_rows<Rows>(piece.window, row);
    const float* weight = work.score_gradients + (piece.first_score + seen.begin) * row_tile + row;
    const float* weights[Rows];
#pragma GCC unroll 8
    for (int g = 0; g < Rows; ++g) weights[g] = weight + g;
    add_values(weights, row_tile,
               piece.keys + (piece.window.any_begin + seen.begin) * work.padded + column,
               work.padded, seen.end - seen.begin, sum);
  }
#pragma GCC unroll 8
  for (int g = 0; g < Rows; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) store(out + g * work.padded + x * lanes, sum[g][x]);
  }
}

template <int Rows>
ATTNSCOPE_INLINE void add_query_gradients(const BackwardWork& work) {
  for (int row = 0; row < work.tile.rows; row += Rows) {
    std::int64_t c = 0;
    for (; c + 2 * lanes <= work.padded; c += 2 * lanes) add_query_gradients<Rows, 2>(work, row, c);
    if (c < work.padded) add_query_gradients<Rows, 1>(work, row, c);
  }
}

/// Rows or keys whose sums fill the registers: more of them hide the latency of a multiply-add
/// better, but their windows have more edges.
constexpr int together = lanes == 16 ? 8 : 4;
/// A tile with at least this many keys is wide: edges matter little.
constexpr std::int32_t many_keys = 4 * row_tile;

/// out[g] += sum over `count` rows of weight[g * row_tile + row] * values[row], for Keys keys.
/// The tile's sum is computed first: if rows were added one by one to the sum of a key with a
/// million rows, its float32 error would be 6e-6 of it; this way it is 1e-6.
template <int Keys, int Width>
ATTNSCOPE_INLINE void add_rows(const float* weight, const StridedRows& values, std::int64_t count,
                               float* const* out, std::int64_t column) {
  Vector sum[Keys][Width];
  const float* weights[Keys];
#pragma GCC unroll 8
  for (int g = 0; g < Keys; ++g) {
    weights[g] = weight + g * row_tile;
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) sum[g][x] = Vector{};
  }
  add_values(weights, 1, values.first + column, values.stride, count, sum);
#pragma GCC unroll 8
  for (int g = 0; g < Keys; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) {
      float* to = out[g] + column + x * lanes;
      store(to, load(to) + sum[g][x]);
    }
  }
}

template <int Keys>
ATTNSCOPE_INLINE void add_rows(const float* weight, const StridedRows& values, std::int64_t padded,
                               std::int64_t count, float* const* out) {
  std::int64_t c = 0;
  for (; c + 2 * lanes <= padded; c += 2 * lanes) {
    add_rows<Keys, 2>(weight, values, count, out, c);
  }
  if (c < padded) add_rows<Keys, 1>(weight, values, count, out, c);
}

/// Gradients of `Keys` keys of a piece starting at key `j`, from rows [begin, end) of the tile.
template <int Keys>
ATTNSCOPE_INLINE void add_key_gradients(const BackwardWork& work, const BackwardPiece& piece,
                                        std::int32_t j, int begin, int end) {
  const BackwardTile& tile = work.tile;
  const std::int64_t at = (piece.first_score + j - piece.window.any_begin) * row_tile + begin;
  float* keys[Keys];
  float* values[Keys];
  for (int g = 0; g < Keys; ++g) {
    const std::int64_t row = gradient_row(piece.gradients, j + g) * work.pitch;
    keys[g] = piece.gradients.keys + row;
    values[g] = piece.gradients.values + row;
  }
  add_rows<Keys>(work.score_gradients + at, {tile.queries[begin], tile.queries.stride}, work.padded,
                 end - begin, keys);
  add_rows<Keys>(work.scores + at, {tile.arriving[begin], tile.arriving.stride}, work.padded,
                 end - begin, values);
}

inline void add_key_gradients(const BackwardWork& work, const BackwardPiece& piece) {
  constexpr int few = 4;
  const TileWindow& window = piece.window;
  int begin = 0, end = 0;
  const auto rows_that_see = [&](std::int32_t first, std::int32_t last) {
    while (begin < work.tile.rows && window.end[begin] <= first) ++begin;
    while (end < work.tile.rows && window.begin[end] <= last) ++end;
    return begin < end;
  };
  std::int32_t j = window.any_begin;
  while (j < window.any_end) {
    if (j >= window.all_begin && j + together <= window.all_end) {
      add_key_gradients<together>(work, piece, j, 0, work.tile.rows);
      j += together;
    } else if (j + few <= window.any_end) {
      if (rows_that_see(j, j + few - 1)) add_key_gradients<few>(work, piece, j, begin, end);
      j += few;
    } else {
      if (rows_that_see(j, j)) add_key_gradients<1>(work, piece, j, begin, end);
      ++j;
    }
  }
}

/// All three products pair by pair, without the forbidden pairs.
inline void add_gradients_carefully(const BackwardWork& work, const BackwardPiece& piece,
                                    bool for_queries) {
  const BackwardTile& tile = work.tile;
  const TileWindow& window = piece.window;
  for (std::int32_t j = window.any_begin; j < window.any_end; ++j) {
    const std::int64_t score = (piece.first_score + j - window.any_begin) * row_tile;
    const float* key = piece.keys + j * work.padded;
    float of_key[largest_head_dim] = {}, of_value[largest_head_dim] = {};
    for (int r = 0; r < tile.rows; ++r) {
      const float p = work.scores[score + r];
      if (p == forbidden) continue;
      const float ds = work.score_gradients[score + r];
      const float* query = tile.queries[r];
      const float* arriving = tile.arriving[r];
      float* gradient = tile.gradients + r * work.padded;
      for (std::int64_t c = 0; for_queries && c < work.padded; ++c) gradient[c] += ds * key[c];
      for (std::int64_t c = 0; c < work.padded; ++c) of_key[c] += ds * query[c];
      for (std::int64_t c = 0; c < work.padded; ++c) of_value[c] += p * arriving[c];
    }
    if (piece.gradients.keys == nullptr) continue;
    const std::int64_t row = gradient_row(piece.gradients, j) * work.pitch;
    for (std::int64_t c = 0; c < work.padded; ++c) piece.gradients.keys[row + c] += of_key[c];
    for (std::int64_t c = 0; c < work.padded; ++c) piece.gradients.values[row + c] += of_value[c];
  }
}

/// Processes the pieces collected for the tile.
template <int Dim>
inline void finish_pieces(BackwardWork& work, bool for_queries) {
  if (work.piece_count == 0) return;
  for (int i = 0; i < work.piece_count; ++i) {
    score_piece<Dim>(work, work.pieces[i]);
    mask_piece(work, work.pieces[i], -infinity);
  }
  weigh_tile(work);
  if (work.careful) {
    for (int i = 0; i < work.piece_count; ++i) {
      mask_piece(work, work.pieces[i], forbidden);
      add_gradients_carefully(work, work.pieces[i], for_queries);
    }
  } else {
    if (for_queries && work.score_count >= many_keys) {
      add_query_gradients<together>(work);
    } else if (for_queries) {
      add_query_gradients<row_group>(work);
    }
    for (int i = 0; i < work.piece_count; ++i) {
      if (work.pieces[i].gradients.keys != nullptr) add_key_gradients(work, work.pieces[i]);
    }
  }
  work.piece_count = 0;
  work.score_count = 0;
}

/// One row that attends to all keys passed: scores with keys in the lanes, then key by key.
inline void finish_row(BackwardWork& work, int r, const float* keys, const float* values,
                       std::int64_t count, const KeyGradients& to, std::int64_t first_key) {
  const BackwardTile& tile = work.tile;
  const float* query = tile.queries[r];
  const float* arriving = tile.arriving[r];
  score_row(tile.queries_t + r * work.padded, keys, work.padded, count, work.scores);
  score_row(arriving, values, work.padded, count, work.score_gradients);
  for (std::int64_t j = count; j < count + lanes; ++j) {
    work.scores[j] = -infinity;
    work.score_gradients[j] = 0.0f;
  }
  const Vector shift = splat(tile.shift[r]);
  const Vector delta = splat(tile.delta[r]);
  for (std::int64_t j = 0; j < count; j += lanes) {
    const Vector p = exp2_of(load(work.scores + j) - shift);
    store(work.scores + j, p);
    store(work.score_gradients + j, p * (load(work.score_gradients + j) - delta));
  }
  add_values_to_row(work.score_gradients, keys, work.padded, count,
                    tile.gradients + r * work.padded);
  if (to.keys == nullptr) return;
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t row = gradient_row(to, first_key + j) * work.pitch;
    const Vector ds = splat(work.score_gradients[j]);
    const Vector p = splat(work.scores[j]);
    for (std::int64_t c = 0; c < work.padded; c += lanes) {
      store(to.keys + row + c, load(to.keys + row + c) + ds * load(query + c));
      store(to.values + row + c, load(to.values + row + c) + p * load(arriving + c));
    }
  }
}

}  // namespace
}  // namespace attnscope::cpu
