// SPDX-License-Identifier: Apache-2.0
//
// Common code of the three unfused steps. A row's scores are its `columns` floats, segment by
// segment (kernels/plan/attention_plan.h). Pairs outside the pattern have the value `outside` after
// the first step, and no step reads their keys or values.
#pragma once

#include "kernels/cpu/inner/keys.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cpu {
namespace {

/// Enough for block_keys(d) or chunk_rows(d) rows of padded_dim(d) floats, for every d to 256.
constexpr int buffer_floats = 12288;

ATTNSCOPE_INLINE std::int64_t row_count(const RowChunk& rows) {
  return rows.queries.end - rows.queries.begin;
}

/// Calls visit(row, offset of its token in the view) for the rows of a run, which may span items;
/// an item's offset is computed once.
template <typename Byte, typename Visit>
ATTNSCOPE_INLINE void for_each_row(const HeadView<Byte>& view, const TokenRun& run,
                                   const std::int64_t* indices, const Visit& visit) {
  const std::int64_t count = run.end - run.begin;
  if (run.listed) {
    for (std::int64_t r = 0; r < count; ++r) visit(r, offset_of(view, indices[run.begin + r]));
    return;
  }
  for (std::int64_t r = 0; r < count;) {
    const std::int64_t token = run.begin + r;
    const std::int64_t stop = view.item_tokens == 0
                                  ? count
                                  : least(count, r + view.item_tokens - token % view.item_tokens);
    std::int64_t offset = offset_of(view, token);
    for (; r < stop; ++r, offset += view.token_stride) visit(r, offset);
  }
}

/// The position of column 0 in the row of `token`; `seen` are the row's positions.
ATTNSCOPE_INLINE std::int64_t column_0_of(const Segment& segment, std::int64_t token,
                                          const Positions& seen) {
  return segment.kind == SegmentKind::block ? seen.begin : first_column_key(segment, token);
}

/// The windows of a few rows within a block of keys.
template <int Rows>
struct RowWindows {
  std::int64_t begin[Rows];  // counted from the block's first key; both ends ascend with the rows
  std::int64_t end[Rows];
  std::int64_t score[Rows];  // of the block's first key, visible or not, offset in chunk.scores
};

/// A block of keys of one segment.
struct KeyBlock {
  const Segment* segment;
  std::int64_t column;  // of the segment's part in a row
  std::int64_t first;   // position in the segment's key run
  std::int64_t count;
};

/// The windows of rows [first_row, first_row + rows); those past the last are empty and after all
/// others.
template <int Rows>
ATTNSCOPE_INLINE void find_windows(const WindowedChunk& chunk, const KeyBlock& block,
                                   std::int64_t first_row, int rows, RowWindows<Rows>& windows) {
  const RowChunk& in = chunk.rows;
  const Segment& segment = *block.segment;
  const std::int64_t score = first_row * chunk.columns + block.column + block.first;
  if (segment.kind == SegmentKind::whole) {
    for (int g = 0; g < Rows; ++g) {
      windows.begin[g] = 0;
      windows.end[g] = block.count;
      windows.score[g] = score + g * chunk.columns - segment.keys.begin;
    }
  } else if (segment.kind == SegmentKind::band && !in.queries.listed) {
    const std::int64_t w = capped_window(segment);
    const std::int64_t lowest = in.queries.begin + first_row + segment.offset - w;
    const std::int64_t first = lowest - block.first, last = first + 2 * w + 1;
    const bool by_key = stored_by_key(segment);
    const std::int64_t column_0 = by_key ? segment.keys.begin : lowest, slides = by_key ? 0 : 1;
    for (int g = 0; g < Rows; ++g) {
      windows.begin[g] = clamped(first + g, 0, block.count);
      windows.end[g] = clamped(last + g, 0, block.count);
      windows.score[g] = score + g * (chunk.columns - slides) - column_0;
    }
  } else {
    for (int g = 0; g < rows; ++g) {
      const std::int64_t token = token_of(in.queries, in.indices, first_row + g);
      const Positions seen = seen_by(segment, in.indices, token);
      const std::int64_t column_0 = column_0_of(segment, token, seen);
      windows.begin[g] = clamped(seen.begin - block.first, 0, block.count);
      windows.end[g] = clamped(seen.end - block.first, 0, block.count);
      windows.score[g] = score + g * chunk.columns - column_0;
    }
  }
  for (int g = rows; g < Rows; ++g) {
    windows.begin[g] = windows.end[g] = windows.end[rows - 1];
    windows.score[g] = windows.score[rows - 1];
  }
}

/// Calls visit(block) for all keys of the chunk's rows, in blocks of at most `limit`.
template <typename Visit>
ATTNSCOPE_INLINE void for_each_block(const WindowedChunk& chunk, std::int64_t limit,
                                     const Visit& visit) {
  std::int64_t column = 0;
  for (std::int64_t i = 0; i < chunk.rows.segment_count; ++i) {
    const Segment& segment = chunk.rows.segments[i];
    const Positions seen = seen_by_chunk(chunk.rows, segment);
    for (std::int64_t first = seen.begin; first < seen.end; first += limit) {
      visit(KeyBlock{&segment, column, first, least(limit, seen.end - first)});
    }
    column += columns_of(segment);
  }
}

ATTNSCOPE_INLINE void fill(float* begin, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) begin[i] = value;
}

/// Writes `outside` to the columns of one row's part for a segment that have no key, and to skipped
/// keys.
inline void mark_outside_of_row(const WindowedChunk& chunk, const Segment& segment,
                                std::int64_t column, std::int64_t row) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t token = token_of(rows.queries, rows.indices, row);
  const Positions seen = seen_by(segment, rows.indices, token);
  const std::int64_t columns = columns_of(segment);
  float* scores = chunk.scores + row * chunk.columns + column;
  if (seen.begin >= seen.end) return fill(scores, columns, chunk.outside);
  const std::int64_t base = column_0_of(segment, token, seen);
  fill(scores, seen.begin - base, chunk.outside);
  fill(scores + (seen.end - base), columns - (seen.end - base), chunk.outside);
  for_each_skipped(segment, rows.indices, seen.begin, seen.end,
                   [&](std::int64_t position) { scores[position - base] = chunk.outside; });
}

/// The rows that attend to the key of every column of their part, so that nothing is outside.
inline Positions full_rows(const WindowedChunk& chunk, const Segment& segment) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t count = row_count(rows);
  if (segment.skip_begin < segment.skip_end) return {0, 0};
  if (segment.kind == SegmentKind::whole) return {0, count};
  if (segment.kind != SegmentKind::band || rows.queries.listed) return {0, 0};
  const std::int64_t opposite = rows.queries.begin + segment.offset;
  const std::int64_t w = capped_window(segment);
  if (stored_by_key(segment)) {
    const std::int64_t first = clamped(segment.keys.end - 1 - w - opposite, 0, count);
    return {first, clamped(segment.keys.begin + w + 1 - opposite, first, count)};
  }
  const std::int64_t begin = clamped(segment.keys.begin + w - opposite, 0, count);
  return {begin, clamped(segment.keys.end - w - opposite, begin, count)};
}

inline void mark_outside(const WindowedChunk& chunk) {
  const std::int64_t count = row_count(chunk.rows);
  std::int64_t column = 0;
  for (std::int64_t i = 0; i < chunk.rows.segment_count; ++i) {
    const Segment& segment = chunk.rows.segments[i];
    const Positions full = full_rows(chunk, segment);
    for (std::int64_t row = 0; row < full.begin; ++row) {
      mark_outside_of_row(chunk, segment, column, row);
    }
    for (std::int64_t row = full.end; row < count; ++row) {
      mark_outside_of_row(chunk, segment, column, row);
    }
    column += columns_of(segment);
  }
}

// The product of both the values step and its transpose: a group of outputs, each a weighted sum
// over a window of rows that slides with the output. Outputs stay in registers and share each row
// they load; a pair outside its window is never multiplied.

/// Outputs of a group: with two vectors of each, enough sums to hide the latency of a multiply-add.
/// The windows of a larger group would overlap too little at w = 4.
constexpr int group_size = 4;

/// The window [begin, end) of each output of a group; both ends ascend with the outputs.
struct GroupWindow {
  std::int64_t begin[group_size];
  std::int64_t end[group_size];
};

/// The part of a window within [first, first + count), counted from `first`; empty windows keep
/// their order.
ATTNSCOPE_INLINE void set_window(GroupWindow& window, int g, Positions seen, std::int64_t first,
                                 std::int64_t count) {
  window.begin[g] = clamped(seen.begin - first, 0, count);
  window.end[g] = most(clamped(seen.end - first, 0, count), window.begin[g]);
}

/// Outputs past the group's last have empty windows after all others.
ATTNSCOPE_INLINE void close_windows(GroupWindow& window, int outputs) {
  for (int g = outputs; g < group_size; ++g) {
    window.begin[g] = window.end[g] = window.end[outputs - 1];
  }
}

/// Whether the bound increases by one row from output to output, as inside a sequence.
ATTNSCOPE_INLINE bool slides(const std::int64_t (&bound)[group_size]) {
  return bound[1] == bound[0] + 1 && bound[2] == bound[0] + 2 && bound[3] == bound[0] + 3;
}

template <int Width>
ATTNSCOPE_INLINE void load_values(const float* value, Vector (&v)[Width]) {
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) v[x] = load(value + x * lanes);
}

template <int Width>
ATTNSCOPE_INLINE void add_product(float weight, const Vector (&v)[Width], Vector (&sum)[Width]) {
  const Vector p = splat(weight);
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) sum[x] += p * v[x];
}

/// Rows [begin, end), any of which may be outside an output's window.
template <int Width, typename Weight>
ATTNSCOPE_INLINE void add_edge(const GroupWindow& window, std::int64_t begin, std::int64_t end,
                               const Weight& weight, const float* values, std::int64_t padded,
                               Vector (&sum)[group_size][Width]) {
  for (std::int64_t p = begin; p < end; ++p) {
    Vector v[Width];
    load_values(values + p * padded, v);
#pragma GCC unroll 4
    for (int g = 0; g < group_size; ++g) {
      if (window.begin[g] <= p && p < window.end[g]) add_product(weight(g, p), v, sum[g]);
    }
  }
}

/// sum[g] += weight(g, p) * value[p] over the window of g.
template <int Width, typename Weight>
ATTNSCOPE_INLINE void add_windows(const GroupWindow& window, const Weight& weight,
                                  const float* values, std::int64_t padded,
                                  Vector (&sum)[group_size][Width]) {
  constexpr int last = group_size - 1;
  const std::int64_t all_begin = window.begin[last], all_end = window.end[0];
  if (all_begin >= all_end) {
    return add_edge(window, window.begin[0], window.end[last], weight, values, padded, sum);
  }
  if (slides(window.begin)) {
#pragma GCC unroll 4
    for (int r = 0; r < last; ++r) {
      Vector v[Width];
      load_values(values + (window.begin[0] + r) * padded, v);
#pragma GCC unroll 4
      for (int g = 0; g <= r; ++g) add_product(weight(g, window.begin[0] + r), v, sum[g]);
    }
  } else {
    add_edge(window, window.begin[0], all_begin, weight, values, padded, sum);
  }
#pragma GCC unroll 2
  for (std::int64_t p = all_begin; p < all_end; ++p) {
    Vector v[Width];
    load_values(values + p * padded, v);
#pragma GCC unroll 4
    for (int g = 0; g < group_size; ++g) add_product(weight(g, p), v, sum[g]);
  }
  if (slides(window.end)) {
#pragma GCC unroll 4
    for (int r = 0; r < last; ++r) {
      Vector v[Width];
      load_values(values + (all_end + r) * padded, v);
#pragma GCC unroll 4
      for (int g = r + 1; g <= last; ++g) add_product(weight(g, all_end + r), v, sum[g]);
    }
  } else {
    add_edge(window, all_end, window.end[last], weight, values, padded, sum);
  }
}

/// The group's sums start at 0 and are added to the outputs at the end: sums of sums lose less to
/// rounding than one sum over thousands of rows.
template <int Width, typename Weight>
ATTNSCOPE_INLINE void add_windows_to(const GroupWindow& window, const Weight& weight,
                                     const float* values, std::int64_t padded, int outputs,
                                     float* const* out) {
  Vector sum[group_size][Width] = {};
  add_windows(window, weight, values, padded, sum);
#pragma GCC unroll 4
  for (int g = 0; g < group_size; ++g) {
    for (int x = 0; x < Width && g < outputs; ++x) {
      store(out[g] + x * lanes, load(out[g] + x * lanes) + sum[g][x]);
    }
  }
}

/// out[g][0 ... padded) += sum over p in window g of weight(g, p) * value[p], for the first
/// `outputs` of the group.
template <typename Weight>
ATTNSCOPE_INLINE void add_windows_to(const GroupWindow& window, const Weight& weight,
                                     const float* values, std::int64_t padded, int outputs,
                                     float* const* out) {
  float* to[group_size];
  for (int g = 0; g < outputs; ++g) to[g] = out[g];
  std::int64_t c = 0;
  for (; c + 2 * lanes <= padded; c += 2 * lanes) {
    add_windows_to<2>(window, weight, values + c, padded, outputs, to);
    for (int g = 0; g < outputs; ++g) to[g] += 2 * lanes;
  }
  if (c < padded) add_windows_to<1>(window, weight, values + c, padded, outputs, to);
}

}  // namespace
}  // namespace attnscope::cpu
