// SPDX-License-Identifier: Apache-2.0
//
// Common code of both ways in which the fused kernel processes a tile of rows: the scores of all
// keys of any of its rows, forbidden pairs at -inf, and the values shared by a few of its rows.
//
// A key at a window's edge is multiplied into all rows of its group, with weight 0 for forbidden
// pairs, so that 0 * NaN would affect them. Testing every value would cost as much as using it, so
// the chunk is first computed as if values were finite. If any output is not, the chunk is computed
// again `carefully`, skipping forbidden pairs one by one in the same order of operations.
#pragma once

#include "kernels/cpu/inner/keys.h"

namespace attnscope::cpu {
namespace {

// The state of the fused kernel for one chunk of rows, all in the scratch passed by the caller.

constexpr int most_spans = most_key_spans;

/// Keys of one segment: packed consecutively or, if no tile of rows has more than few rows, in
/// place with a pitch.
struct Span {
  const Segment* segment;
  std::int64_t first;  // position of key 0 in the segment's run
  std::int32_t count;
  std::int32_t base;  // the first key in `keys` and `values`
  std::int32_t end;   // keys [base, end) are present
  const float* keys;
  const float* values;
  std::int64_t key_pitch, value_pitch;  // in floats
  std::int64_t key_at, value_at;        // offsets of key 0, unless listed
  float *key_buffer, *value_buffer;
  std::int32_t capacity;  // of the buffers, in keys
};

struct Work {
  const SegmentChunk* chunk;
  std::int64_t d, padded, rows;
  RowPlaces q_places, o_places;
  bool careful;
  float* scores;
  float *key_buffer, *value_buffer;
  float* queries;  // transposed, times the scale: of one tile, or of all tiles
  // If keys are processed block by block: the rows' intermediate results.
  float *outputs, *maxima, *sums;
  Span spans[most_spans];
  int span_count;
  std::int64_t block_size, block_limit;
};

ATTNSCOPE_INLINE int rows_of_tile(const Work& work, std::int64_t first_row) {
  return static_cast<int>(least(work.rows - first_row, row_tile));
}

ATTNSCOPE_INLINE bool has_few_rows(const Work& work, std::int64_t first_row) {
  return rows_of_tile(work, first_row) <= few_rows;
}

/// Uses the span's keys and values in place if possible.
inline bool use_in_place(const Work& work, Span& span) {
  const RowChunk& rows = work.chunk->rows;
  const Segment& segment = *span.segment;
  if (segment.keys.listed) return false;
  span.key_at = offset_of(rows.k, span.first);
  span.value_at = offset_of(rows.v, span.first);
  const bool in_place =
      work.rows <= few_rows
          ? lies_plain(rows.k, segment, work.d) && lies_plain(rows.v, segment, work.d)
          : lies_packed(rows.k, segment, work.d) && lies_packed(rows.v, segment, work.d);
  if (!in_place) return false;
  span.base = 0;
  span.end = span.count;
  span.keys = floats_at(rows.k, span.key_at);
  span.values = floats_at(rows.v, span.value_at);
  span.key_pitch = rows.k.token_stride;
  span.value_pitch = rows.v.token_stride;
  return true;
}

/// Assigns the span the buffers for its packed keys and values.
ATTNSCOPE_INLINE void use_buffers(const Work& work, Span& span, std::int64_t place) {
  span.base = 0;
  span.end = 0;
  span.keys = span.key_buffer = work.key_buffer + place * work.padded;
  span.values = span.value_buffer = work.value_buffer + place * work.padded;
  span.key_pitch = span.value_pitch = work.padded;
}

/// `nonfinite` is 0, or NaN once a number was not finite: 0 * x is 0 for every finite x and NaN for
/// all others, and NaN persists in a sum.
ATTNSCOPE_INLINE void note_strange(Vector& nonfinite, Vector v) {
  nonfinite += v * 0.0f;
}

ATTNSCOPE_INLINE bool is_finite(Vector nonfinite) {
  return sum_of(nonfinite) == 0.0f;
}

ATTNSCOPE_INLINE Work begin_work(const SegmentChunk& chunk, bool careful) {
  Work work;
  work.chunk = &chunk;
  work.d = chunk.rows.head_dim;
  work.padded = padded_dim(work.d);
  work.rows = chunk.rows.queries.end - chunk.rows.queries.begin;
  work.q_places = row_places(chunk.rows.q, chunk.rows);
  work.o_places = row_places(chunk.rows.o, chunk.rows);
  work.careful = careful;
  work.span_count = 0;
  return work;
}

/// Layout of the scratch for whole tiles.
inline Work begin_whole_tiles(const SegmentChunk& chunk, bool careful) {
  Work work = begin_work(chunk, careful);
  const std::int64_t keys = chunk.tile_keys;
  // Scores follow the queries: if they were a multiple of 4 kB apart, loads of queries would wait
  // for stores of scores, since the processor first compares the low bits of their addresses.
  work.queries = chunk.scratch;
  work.scores = work.queries + row_tile * work.padded;
  work.outputs = work.scores + (keys + lanes) * row_tile;
  work.key_buffer = work.outputs + row_group * work.padded;
  work.value_buffer = work.key_buffer + (keys + keys / 2) * work.padded;
  return work;
}

/// Layout of the scratch for keys in blocks.
inline Work begin_blocks(const SegmentChunk& chunk, bool careful) {
  Work work = begin_work(chunk, careful);
  work.block_size = 0;
  work.block_limit = block_keys(work.d);
  if (work.rows <= few_rows && chunk.rows.k.dtype != DType::float32) {
    work.block_limit = least(work.block_limit, 64);  // packed for one use: small blocks
  }
  const std::int64_t tiled_rows = (work.rows + row_tile - 1) / row_tile * row_tile;
  work.maxima = chunk.scratch;
  work.sums = work.maxima + tiled_rows;
  work.scores = work.sums + tiled_rows;
  work.queries = work.scores + (work.block_limit + lanes) * row_tile;
  work.outputs = work.queries + tiled_rows * work.padded;
  work.key_buffer = work.outputs + tiled_rows * work.padded;
  work.value_buffer = work.key_buffer + work.block_limit * work.padded;
  for (std::int64_t r = 0; r < tiled_rows; ++r) work.maxima[r] = -infinity, work.sums[r] = 0.0f;
  std::memset(work.outputs, 0, sizeof(float) * static_cast<std::size_t>(tiled_rows * work.padded));
  return work;
}

/// A tile's queries times the scale: transposed, or as padded rows if there are few.
inline void load_queries(const Work& work, std::int64_t first_row, float* to) {
  const RowChunk& chunk = work.chunk->rows;
  const int rows = rows_of_tile(work, first_row);
  if (rows == row_tile && work.q_places.in_one_run) {
    const std::int64_t stride = chunk.q.token_stride;
    const std::int64_t at = work.q_places.first + first_row * stride;
    if (chunk.q.dtype == DType::float32) {
      for (std::int64_t r = 0; r < least(work.rows - first_row - row_tile, row_tile); ++r) {
        prefetch_row(chunk.q, at + (r + row_tile) * stride, work.d);
      }
      transpose_rows(StridedRows{floats_at(chunk.q, at), stride}, work.d, chunk.scale, to);
    } else {
      alignas(64) float buffer[tile_floats];
      pack_run(chunk.q, at, work.d, row_tile, buffer);
      transpose_rows(StridedRows{buffer, work.padded}, work.d, chunk.scale, to);
    }
    return;
  }
  if (rows > few_rows) {
    alignas(64) float buffer[tile_floats];
    const float* row[row_tile];
    rows_in_place(chunk.q, chunk, first_row, rows, buffer, row);
    transpose_rows(row, work.d, chunk.scale, to);
    return;
  }
  for (int r = 0; r < rows; ++r, to += work.padded) {
    const std::int64_t token = token_of(chunk.queries, chunk.indices, first_row + r);
    load_row(chunk.q, offset_of(chunk.q, token), work.d, work.padded, to);
    for (std::int64_t c = 0; c < work.padded; ++c) to[c] *= chunk.scale;
  }
}

/// The part of a span that is visible to a tile, and the location of its scores.
struct Piece {
  const Span* span;
  TileWindow window;
  std::int32_t first_score;  // of key window.any_begin
};

ATTNSCOPE_INLINE void mask_skipped(const Work& work, const Piece& piece, float value) {
  const Span& span = *piece.span;
  for_each_skipped(
      *span.segment, work.chunk->rows.indices, span.first + piece.window.any_begin,
      span.first + piece.window.any_end, [&](std::int64_t position) {
        float* s = work.scores +
                   (piece.first_score + position - span.first - piece.window.any_begin) * row_tile;
        for (int r = 0; r < row_tile; ++r) s[r] = value;
      });
}

/// The scores of a tile and its part of a span.
template <int Dim>
ATTNSCOPE_INLINE void score_piece(const Work& work, const float* queries, const Piece& piece) {
  const TileWindow& window = piece.window;
  float* scores = work.scores + piece.first_score * row_tile;
  score_tile<Dim>(queries, piece.span->keys + (window.any_begin - piece.span->base) * work.padded,
                  work.padded, work.d, window.any_end - window.any_begin, scores);
  mask_skipped(work, piece, -infinity);
  mask_edges(window, scores, -infinity);
}

/// Marks the weights of forbidden pairs for a careful pass.
inline void mark_forbidden(const Work& work, const Piece* pieces, int piece_count) {
  for (int i = 0; i < piece_count; ++i) {
    mask_skipped(work, pieces[i], forbidden);
    mask_edges(pieces[i].window, work.scores + pieces[i].first_score * row_tile, forbidden);
  }
}

/// The largest score of each of `lanes` rows, or `m` if that is larger.
ATTNSCOPE_INLINE Vector largest_score(const float* scores, std::int32_t count, Vector m) {
  Vector peak[4] = {m, m, m, m};  // four chains hide the latency of a maximum
  std::int32_t j = 0;
  for (; j + 4 <= count; j += 4) {
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) peak[y] = larger(load(scores + (j + y) * row_tile), peak[y]);
  }
  for (; j < count; ++j) peak[0] = larger(load(scores + j * row_tile), peak[0]);
  return larger(larger(peak[0], peak[1]), larger(peak[2], peak[3]));
}

/// Turns the scores of `lanes` rows into weights exp2(s - base) and returns their sum.
ATTNSCOPE_INLINE Vector weigh_scores(float* scores, std::int32_t count, Vector base) {
  Vector sum{}, other{};
  std::int32_t j = 0;
  for (; j + 4 <= count; j += 4) {
    Vector p[4];
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      p[y] = exp2_of(load(scores + (j + y) * row_tile) - base);
      store(scores + (j + y) * row_tile, p[y]);
    }
    sum += p[0] + p[1];
    other += p[2] + p[3];
  }
  for (; j < count; ++j) {
    const Vector p = exp2_of(load(scores + j * row_tile) - base);
    store(scores + j * row_tile, p);
    sum += p;
  }
  return sum + other;
}

/// A row without keys has m = -inf; replacing it with 0 avoids -inf - -inf.
ATTNSCOPE_INLINE Vector base_of(Vector m) {
  return m == splat(-infinity) ? Vector{} : m;
}

/// The keys of a piece to which rows [row, row + row_group) of the tile attend, from
/// window.any_begin.
ATTNSCOPE_INLINE Positions seen_by_group(const TileWindow& window, int row) {
  const std::int64_t begin = window.begin[row];
  // Lanes beyond the tile's rows may refer to keys past the last one.
  const std::int64_t end = least(window.end[row + row_group - 1], window.any_end);
  return {begin - window.any_begin, most(begin, end) - window.any_begin};
}

ATTNSCOPE_INLINE const float* values_of(const Work& work, const Piece& piece, std::int64_t key) {
  return piece.span->values + (piece.window.any_begin + key - piece.span->base) * work.padded;
}

/// Adds the pieces' values, from `column` on, to rows [row, row + row_group) of the tile that
/// attend to them.
template <int Width>
ATTNSCOPE_INLINE void add_piece_values(const Work& work, const Piece* pieces, int piece_count,
                                       int row, std::int64_t column,
                                       Vector (&sum)[row_group][Width]) {
  for (int i = 0; i < piece_count; ++i) {
    const Piece& piece = pieces[i];
    const Positions seen = seen_by_group(piece.window, row);
    const float* weight = work.scores + (piece.first_score + seen.begin) * row_tile + row;
    const float* const weights[row_group] = {weight, weight + 1, weight + 2, weight + 3};
    add_values_in_streams(weights, row_tile, values_of(work, piece, seen.begin) + column,
                          work.padded, seen.end - seen.begin, sum);
  }
}

/// The same for one row and all columns, without the forbidden pairs.
inline void add_piece_values_carefully(const Work& work, const Piece* pieces, int piece_count,
                                       int row, int row_of_group, float* sum) {
  for (int i = 0; i < piece_count; ++i) {
    const Piece& piece = pieces[i];
    const Positions seen = seen_by_group(piece.window, row);
    float other[largest_head_dim] = {};
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      const float p = work.scores[(piece.first_score + j) * row_tile + row + row_of_group];
      if (p == forbidden) continue;
      float* to = (j - seen.begin) % value_streams == 0 ? sum : other;
      const float* value = values_of(work, piece, j);
      for (std::int64_t c = 0; c < work.padded; ++c) to[c] += p * value[c];
    }
    if (value_streams == 1) continue;
    for (std::int64_t c = 0; c < work.padded; ++c) sum[c] += other[c];
  }
}

/// Replaces the consecutive scores of one row with weights exp2(s - m). Updates m from `before` and
/// returns the sum of the weights.
inline float weigh_row_scores(float* scores, std::int64_t count, float before, float& m) {
  for (std::int64_t j = count; j < count + lanes; ++j) scores[j] = -infinity;
  Vector peak = splat(-infinity);
  for (std::int64_t j = 0; j < count; j += lanes) peak = larger(load(scores + j), peak);
  const float highest = largest_of(peak);
  m = highest > before ? highest : before;
  const float base = m == -infinity ? 0.0f : m;
  Vector sum{};
  for (std::int64_t j = 0; j < count; j += lanes) {
    const Vector p = exp2_of(load(scores + j) - base);
    store(scores + j, p);
    sum += p;
  }
  return sum_of(sum);
}

/// Calls visit(span, first, count) for the intervals of keys to which a row attends: `count` keys
/// starting at the `first` in span.keys and span.values.
template <typename Visit>
ATTNSCOPE_INLINE void for_each_seen(const Work& work, std::int64_t row, const Visit& visit) {
  const RowChunk& rows = work.chunk->rows;
  const std::int64_t token = token_of(rows.queries, rows.indices, row);
  for (int i = 0; i < work.span_count; ++i) {
    const Span& span = work.spans[i];
    const Positions seen = seen_by(*span.segment, rows.indices, token);
    const std::int64_t begin = clamped(seen.begin - span.first, 0, span.count);
    const std::int64_t end = clamped(seen.end - span.first, begin, span.count);
    for_each_kept(*span.segment, rows.indices, span.first + begin, span.first + end,
                  [&](std::int64_t kept, std::int64_t kept_end) {
                    visit(span, kept - span.first - span.base, kept_end - kept);
                  });
  }
}

ATTNSCOPE_INLINE float lse_of(float m, float sum) {
  return sum == 0.0f ? -infinity : static_cast<float>(ln_2) * (m + __builtin_log2f(sum));
}

}  // namespace
}  // namespace attnscope::cpu
