// SPDX-License-Identifier: Apache-2.0
//
// Common code of the three unfused steps. A row's scores are its `columns` floats, segment by
// segment (kernels/plan/score_columns.h). Pairs outside the pattern have the value `outside` after
// the first step, and no step reads their keys or values.
#pragma once

#include "kernels/cpu/inner/key_block.h"
#include "kernels/plan/score_columns.h"

namespace attnscope::cpu {
namespace {

/// Enough for block_keys(d) or chunk_rows(d) rows of padded_dim(d) floats, for every d to 256.
constexpr int room_floats = 12288;

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

}  // namespace
}  // namespace attnscope::cpu
