// SPDX-License-Identifier: Apache-2.0
//
// The state of the fused kernel for one chunk of rows, all in the scratch passed by the caller.
#pragma once

#include "kernels/cpu/inner/key_block.h"

namespace attnscope::cpu {
namespace {

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
  float *key_room, *value_room;
  std::int32_t room;  // capacity in keys
};

struct Work {
  const SegmentChunk* chunk;
  std::int64_t d, padded, rows;
  RowPlaces q_places, o_places;
  bool careful;
  float* scores;
  float *key_room, *value_room;
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

/// Gives the span room to pack its keys and values in.
ATTNSCOPE_INLINE void use_room(const Work& work, Span& span, std::int64_t place) {
  span.base = 0;
  span.end = 0;
  span.keys = span.key_room = work.key_room + place * work.padded;
  span.values = span.value_room = work.value_room + place * work.padded;
  span.key_pitch = span.value_pitch = work.padded;
}

/// `strange` is 0, or NaN once a number was not finite: 0 * x is 0 for every finite x and NaN for
/// all others, and NaN persists in a sum.
ATTNSCOPE_INLINE void note_strange(Vector& strange, Vector v) {
  strange += v * 0.0f;
}

ATTNSCOPE_INLINE bool is_finite(Vector strange) {
  return sum_of(strange) == 0.0f;
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
  work.key_room = work.outputs + row_group * work.padded;
  work.value_room = work.key_room + (keys + keys / 2) * work.padded;
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
  work.key_room = work.outputs + tiled_rows * work.padded;
  work.value_room = work.key_room + work.block_limit * work.padded;
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
      alignas(64) float room[tile_floats];
      pack_run(chunk.q, at, work.d, row_tile, room);
      transpose_rows(StridedRows{room, work.padded}, work.d, chunk.scale, to);
    }
    return;
  }
  if (rows > few_rows) {
    alignas(64) float room[tile_floats];
    const float* row[row_tile];
    rows_in_place(chunk.q, chunk, first_row, rows, room, row);
    transpose_rows(row, work.d, chunk.scale, to);
    return;
  }
  for (int r = 0; r < rows; ++r, to += work.padded) {
    const std::int64_t token = token_of(chunk.queries, chunk.indices, first_row + r);
    load_row(chunk.q, offset_of(chunk.q, token), work.d, work.padded, to);
    for (std::int64_t c = 0; c < work.padded; ++c) to[c] *= chunk.scale;
  }
}

}  // namespace
}  // namespace attnscope::cpu
