// SPDX-License-Identifier: Apache-2.0
//
// The three unfused steps on one chunk of rows of one task and head. Scores of a row stand in its
// `columns` floats, segment by segment: 2w+1 for a band (column j: the key j - w off the diagonal),
// the block's length for a block, one a key for a whole run. Pairs outside the pattern hold
// `outside` after the first step, and no step reads a key or a value of theirs.
#pragma once

#include "kernels/cpu/inner/key_block.h"

namespace attnscope::cpu {
namespace {

/// Enough for block_keys(d) or chunk_rows(d) rows of padded_dim(d) floats, for every d to 256.
constexpr int room_floats = 12288;

ATTNSCOPE_INLINE std::int64_t columns_of(const Segment& segment) {
  const std::int64_t keys = segment.keys.end - segment.keys.begin;
  if (segment.kind == SegmentKind::band) return 2 * segment.window + 1;
  return segment.kind == SegmentKind::block ? least(segment.window, keys) : keys;
}

/// The position of a row's column 0, given what the row sees.
ATTNSCOPE_INLINE std::int64_t first_column(const Segment& segment, Positions seen,
                                           std::int64_t token) {
  if (segment.kind == SegmentKind::band) return token + segment.offset - segment.window;
  return seen.begin;
}

/// The segment's part of one row, and the positions behind it.
struct RowPart {
  float* scores;  // of position `base`
  std::int64_t base;
  Positions seen;
};

ATTNSCOPE_INLINE RowPart row_part(const WindowedChunk& chunk, const Segment& segment,
                                  std::int64_t column, std::int64_t row) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t token = token_of(rows.queries, rows.indices, row);
  const Positions seen = seen_by(segment, rows.indices, token);
  return {chunk.scores + row * chunk.columns + column, first_column(segment, seen, token), seen};
}

ATTNSCOPE_INLINE void fill(float* begin, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) begin[i] = value;
}

/// Writes `outside` wherever the row's part has no key, and over skipped keys.
inline void mark_outside(const WindowedChunk& chunk, const Segment& segment, std::int64_t column) {
  const std::int64_t count = chunk.rows.queries.end - chunk.rows.queries.begin;
  const std::int64_t columns = columns_of(segment);
  for (std::int64_t row = 0; row < count; ++row) {
    const RowPart part = row_part(chunk, segment, column, row);
    if (part.seen.begin >= part.seen.end) {
      fill(part.scores, columns, chunk.outside);
      continue;
    }
    const std::int64_t end = part.seen.end - part.base;
    fill(part.scores, part.seen.begin - part.base, chunk.outside);
    fill(part.scores + end, columns - end, chunk.outside);
    for_each_skipped(
        segment, chunk.rows.indices, part.seen.begin, part.seen.end,
        [&](std::int64_t position) { part.scores[position - part.base] = chunk.outside; });
  }
}

/// Turns scores [key][row_tile] into rows of `largest_key_block` floats.
ATTNSCOPE_INLINE void scores_by_row(const float* scores, std::int64_t keys, float* by_row) {
  for (std::int64_t j = 0; j < keys; j += 4) {
    const float* s = scores + j * row_tile;
    for (int r = 0; r < row_tile; r += 4) {
      Vector4 a0 = load4(s + r), a1 = load4(s + row_tile + r);
      Vector4 a2 = load4(s + 2 * row_tile + r), a3 = load4(s + 3 * row_tile + r);
      transpose4(a0, a1, a2, a3);
      float* to = by_row + r * largest_key_block + j;
      store4(to, a0);
      store4(to + largest_key_block, a1);
      store4(to + 2 * largest_key_block, a2);
      store4(to + 3 * largest_key_block, a3);
    }
  }
}

/// A block of keys of one segment.
struct KeyBlock {
  const Segment* segment;
  std::int64_t column;  // of the segment's part in a row
  std::int64_t first;
  std::int32_t count;
  const float* rows;  // keys or values, packed
};

template <int Dim>
inline void score_rows_of_block(const WindowedChunk& chunk, const KeyBlock& block,
                                std::int64_t first_row, int rows, const float* const* query) {
  const std::int64_t d = chunk.rows.head_dim;
  alignas(64) float queries[tile_floats];
  TileWindow window;
  if (!tile_window(chunk.rows, *block.segment, first_row, rows, block.first, block.count, window)) {
    return;
  }
  if (rows <= few_rows) {
    for (int r = 0; r < rows; ++r) {
      copy_padded(query[r], d, padded_dim(d), queries);
      for (std::int64_t c = 0; c < d; ++c) queries[c] *= chunk.rows.scale;
      const RowPart part = row_part(chunk, *block.segment, block.column, first_row + r);
      const std::int64_t count = window.end[r] - window.begin[r];
      if (count <= 0) continue;
      score_row(queries, block.rows + window.begin[r] * padded_dim(d), padded_dim(d), count,
                part.scores + (block.first + window.begin[r] - part.base));
    }
    return;
  }
  alignas(64) float scores[(largest_key_block + 4) * row_tile];
  alignas(64) float by_row[row_tile * largest_key_block];
  const std::int64_t count = window.any_end - window.any_begin;
  transpose_rows(query, d, chunk.rows.scale, queries);
  score_tile<Dim>(queries, block.rows + window.any_begin * padded_dim(d), padded_dim(d), d, count,
                  scores);
  for (std::int64_t j = count; j % 4 != 0; ++j) fill(scores + j * row_tile, row_tile, 0.0f);
  scores_by_row(scores, count, by_row);
  for (int r = 0; r < rows; ++r) {
    const std::int64_t seen = window.end[r] - window.begin[r];
    if (seen <= 0) continue;
    const RowPart part = row_part(chunk, *block.segment, block.column, first_row + r);
    std::memcpy(part.scores + (block.first + window.begin[r] - part.base),
                by_row + r * largest_key_block + (window.begin[r] - window.any_begin),
                sizeof(float) * static_cast<std::size_t>(seen));
  }
}

/// Calls visit(block) for all keys or values that the chunk's rows see, `view` being k or v.
template <typename Visit>
ATTNSCOPE_INLINE void for_each_block(const WindowedChunk& chunk,
                                     const HeadView<const std::byte>& view, const Visit& visit) {
  alignas(64) float room[room_floats];
  const std::int64_t limit = block_keys(chunk.rows.head_dim);
  std::int64_t column = 0;
  for (std::int64_t i = 0; i < chunk.rows.segment_count; ++i) {
    const Segment& segment = chunk.rows.segments[i];
    const Positions seen = seen_by_chunk(chunk.rows, segment);
    for (std::int64_t first = seen.begin; first < seen.end; first += limit) {
      const std::int64_t count = least(limit, seen.end - first);
      visit(KeyBlock{&segment, column, first, static_cast<std::int32_t>(count),
                     packed_rows(view, chunk.rows, segment, first, count, room)});
    }
    column += columns_of(segment);
  }
}

template <int Dim>
inline void run_windowed_scores(const WindowedChunk& chunk) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t row_count = rows.queries.end - rows.queries.begin;
  for_each_block(chunk, rows.k, [&](const KeyBlock& block) {
    for (std::int64_t first = 0; first < row_count; first += row_tile) {
      const int count = static_cast<int>(least(row_count - first, row_tile));
      alignas(64) float room[tile_floats];
      const float* query[row_tile];
      rows_in_place(rows.q, rows, first, count, room, query);
      score_rows_of_block<Dim>(chunk, block, first, count, query);
    }
  });
  std::int64_t column = 0;
  for (std::int64_t i = 0; i < rows.segment_count; ++i) {
    mark_outside(chunk, rows.segments[i], column);
    column += columns_of(rows.segments[i]);
  }
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

ATTNSCOPE_INLINE void copy_fewer_than_lanes(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) store4(to + i, load4(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

/// The last, incomplete vector of a row, with `beyond` in the lanes past it.
ATTNSCOPE_INLINE Vector load_tail(const float* p, std::int64_t count, float beyond) {
  float tail[lanes];
  store(tail, splat(beyond));
  copy_fewer_than_lanes(p, count, tail);
  return load(tail);
}

ATTNSCOPE_INLINE void store_tail(float* p, std::int64_t count, Vector v) {
  float tail[lanes];
  store(tail, v);
  copy_fewer_than_lanes(tail, count, p);
}

/// Scores of a row in units of log 2 become weights that sum to 1. Returns log sum exp.
inline float softmax_row(float* s, std::int64_t columns) {
  const std::int64_t whole = columns / lanes * lanes;
  const std::int64_t rest = columns - whole;
  Vector peak = load_tail(s + whole, rest, -infinity);
  for (std::int64_t j = 0; j < whole; j += lanes) peak = larger(load(s + j), peak);
  const float m = largest_of(peak);
  const float base = m == -infinity ? 0.0f : m;
  Vector sums{};
  for (std::int64_t j = 0; j < whole; j += lanes) {
    const Vector p = exp2_of(load(s + j) - base);
    store(s + j, p);
    sums += p;
  }
  const Vector tail = exp2_of(load_tail(s + whole, rest, -infinity) - base);
  const float sum = sum_of(sums + tail);
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (std::int64_t j = 0; j < whole; j += lanes) store(s + j, load(s + j) * inverse);
  store_tail(s + whole, rest, tail * inverse);
  if (sum == 0.0f) return -infinity;
  return static_cast<float>(ln_2) * (m + __builtin_log2f(sum));
}

void windowed_softmax(const WindowedChunk& chunk) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t count = rows.queries.end - rows.queries.begin;
  for (std::int64_t r = 0; r < count; ++r) {
    const float lse = softmax_row(chunk.scores + r * chunk.columns, chunk.columns);
    if (rows.lse == nullptr) continue;
    rows.lse[token_of(rows.queries, rows.indices, r) * rows.lse_stride] = lse;
  }
}

/// Adds the values at positions [begin, end) to one row.
ATTNSCOPE_INLINE void add_to_row(const KeyBlock& block, const RowPart& part, std::int64_t begin,
                                 std::int64_t end, std::int64_t padded, float* out) {
  if (begin >= end) return;
  add_values_to_row(part.scores + (begin - part.base), block.rows + (begin - block.first) * padded,
                    padded, end - begin, out);
}

template <int Width>
ATTNSCOPE_INLINE void add_to_group(const float* const* weights, const float* values,
                                   std::int64_t padded, std::int64_t count, float* out) {
  Vector sum[row_group][Width];
  for (int g = 0; g < row_group; ++g) {
    for (int x = 0; x < Width; ++x) sum[g][x] = load(out + g * padded + x * lanes);
  }
  add_values(weights, 1, values, padded, count, sum);
  for (int g = 0; g < row_group; ++g) {
    for (int x = 0; x < Width; ++x) store(out + g * padded + x * lanes, sum[g][x]);
  }
}

/// Adds the values at positions [begin, end), which all rows of the group see.
ATTNSCOPE_INLINE void add_to_group(const KeyBlock& block, const RowPart* part, std::int64_t begin,
                                   std::int64_t end, std::int64_t padded, float* out) {
  const float* weights[row_group];
  for (int g = 0; g < row_group; ++g) weights[g] = part[g].scores + (begin - part[g].base);
  const float* values = block.rows + (begin - block.first) * padded;
  std::int64_t c = 0;
  for (; c + 2 * lanes <= padded; c += 2 * lanes) {
    add_to_group<2>(weights, values + c, padded, end - begin, out + c);
  }
  if (c < padded) add_to_group<1>(weights, values + c, padded, end - begin, out + c);
}

/// A group of rows: together where all see a key, each on its own at the windows' edges.
inline void add_block_to_group(const WindowedChunk& chunk, const KeyBlock& block,
                               std::int64_t first_row, int rows, std::int64_t padded, float* out) {
  const std::int64_t* indices = chunk.rows.indices;
  const Segment& segment = *block.segment;
  RowPart part[row_group];
  Positions common{block.first, block.first + block.count};
  for (int g = 0; g < rows; ++g) {
    part[g] = row_part(chunk, segment, block.column, first_row + g);
    part[g].seen = {most(part[g].seen.begin, block.first),
                    least(part[g].seen.end, block.first + block.count)};
    common = {most(common.begin, part[g].seen.begin), least(common.end, part[g].seen.end)};
  }
  const bool together = rows == row_group && common.begin < common.end;
  for (int g = 0; g < rows; ++g) {
    const std::int64_t end = together ? common.begin : part[g].seen.end;
    for_each_kept(segment, indices, part[g].seen.begin, end, [&](std::int64_t a, std::int64_t b) {
      add_to_row(block, part[g], a, b, padded, out + g * padded);
    });
  }
  if (!together) return;
  for_each_kept(segment, indices, common.begin, common.end, [&](std::int64_t a, std::int64_t b) {
    add_to_group(block, part, a, b, padded, out);
  });
  for (int g = 0; g < rows; ++g) {
    for_each_kept(segment, indices, common.end, part[g].seen.end,
                  [&](std::int64_t a, std::int64_t b) {
                    add_to_row(block, part[g], a, b, padded, out + g * padded);
                  });
  }
}

void windowed_values(const WindowedChunk& chunk) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t count = rows.queries.end - rows.queries.begin;
  const std::int64_t padded = padded_dim(rows.head_dim);
  alignas(64) float outputs[room_floats];
  std::memset(outputs, 0, sizeof(float) * static_cast<std::size_t>(count * padded));
  for_each_block(chunk, rows.v, [&](const KeyBlock& block) {
    for (std::int64_t row = 0; row < count; row += row_group) {
      add_block_to_group(chunk, block, row, static_cast<int>(least(count - row, row_group)), padded,
                         outputs + row * padded);
    }
  });
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t token = token_of(rows.queries, rows.indices, r);
    store_row(outputs + r * padded, rows.head_dim, rows.scale, rows.o, offset_of(rows.o, token));
  }
}

}  // namespace
}  // namespace attnscope::cpu
