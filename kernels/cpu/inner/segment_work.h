// SPDX-License-Identifier: Apache-2.0
//
// What the fused kernel holds while it works on one chunk of rows: all of it in the scratch that
// the caller handed in.
#pragma once

#include "kernels/cpu/inner/key_block.h"

namespace attnscope::cpu {
namespace {

constexpr int most_spans = 16;
/// Keys that lie packed, one after another; a block is a few of them.
struct Span {
  const Segment* segment;
  std::int64_t first;  // position of the first key in the segment's run
  std::int32_t count;
  const float* keys;
  const float* values;
};

struct Work {
  const SegmentChunk* chunk;
  std::int64_t d, padded, rows;
  bool careful;
  float *queries, *outputs, *maxima, *sums, *scores, *key_room, *value_room;
  Span spans[most_spans];
  int span_count;
  std::int64_t block_size, block_limit;
};

ATTNSCOPE_INLINE int rows_of_tile(const Work& work, std::int64_t first_row) {
  return static_cast<int>(least(work.rows - first_row, row_tile));
}

inline Work begin_work(const SegmentChunk& chunk, bool careful) {
  Work work;
  work.chunk = &chunk;
  work.d = chunk.rows.head_dim;
  work.padded = padded_dim(work.d);
  work.rows = chunk.rows.queries.end - chunk.rows.queries.begin;
  work.careful = careful;
  work.span_count = 0;
  work.block_size = 0;
  work.block_limit = block_keys(work.d);
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

/// Queries times the scale: transposed by tiles, or as padded rows where a tile has few.
inline void load_queries(Work& work) {
  const RowChunk& chunk = work.chunk->rows;
  for (std::int64_t first = 0; first < work.rows; first += row_tile) {
    const int rows = rows_of_tile(work, first);
    float* out = work.queries + first * work.padded;
    if (rows > few_rows) {
      alignas(64) float room[tile_floats];
      const float* row[row_tile];
      rows_in_place(chunk.q, chunk, first, rows, room, row);
      transpose_rows(row, work.d, chunk.scale, out);
      continue;
    }
    for (int r = 0; r < rows; ++r) {
      const std::int64_t token = token_of(chunk.queries, chunk.indices, first + r);
      float* to = out + r * work.padded;
      load_row(chunk.q, offset_of(chunk.q, token), work.d, work.padded, to);
      for (std::int64_t c = 0; c < work.padded; ++c) to[c] *= chunk.scale;
    }
  }
}

}  // namespace
}  // namespace attnscope::cpu
