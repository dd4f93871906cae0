// SPDX-License-Identifier: Apache-2.0
//
// The keys of a segment to which the rows of a tile attend. Positions count along the segment's key
// run: token numbers for a range, indices into the plan's index list for a listed run. Queries
// ascend, and so do both ends of their windows; the functions below rely on that.
#pragma once

#include "kernels/cpu/inner/products.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

struct Positions {
  std::int64_t begin;
  std::int64_t end;
};

ATTNSCOPE_INLINE std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
ATTNSCOPE_INLINE std::int64_t most(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
ATTNSCOPE_INLINE std::int64_t clamped(std::int64_t x, std::int64_t low, std::int64_t high) {
  return least(most(x, low), high);
}

ATTNSCOPE_INLINE std::int64_t token_of(const TokenRun& run, const std::int64_t* indices,
                                       std::int64_t row) {
  return run.listed ? indices[run.begin + row] : run.begin + row;
}

/// First position in [begin, end) of the ascending list whose token is at least `token`.
inline std::int64_t first_place(const std::int64_t* list, std::int64_t begin, std::int64_t end,
                                std::int64_t token) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (list[middle] < token) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Windows larger than any token number mean "all"; the cap prevents overflow of sums.
ATTNSCOPE_INLINE std::int64_t capped_window(const Segment& segment) {
  return least(segment.window, std::int64_t{1} << 60);
}

/// The positions of `segment` to which `token` attends, skipped ones included.
inline Positions seen_by(const Segment& segment, const std::int64_t* indices, std::int64_t token) {
  const TokenRun& run = segment.keys;
  if (segment.kind == SegmentKind::whole || run.begin >= run.end) return {run.begin, run.end};
  const std::int64_t first = run.listed ? indices[run.begin] : run.begin;
  const std::int64_t last = run.listed ? indices[run.end - 1] + 1 : run.end;
  const std::int64_t opposite = token + segment.offset;
  Positions seen{};
  if (segment.kind == SegmentKind::band) {
    const std::int64_t w = capped_window(segment);
    seen = {clamped(opposite - w, first, last), clamped(opposite + w + 1, first, last)};
  } else if (opposite < first || opposite >= last) {
    const std::int64_t nowhere = opposite < first ? first : last;
    seen = {nowhere, nowhere};
  } else {
    const std::int64_t begin = first + (opposite - first) / segment.window * segment.window;
    seen = {begin, last - begin > segment.window ? begin + segment.window : last};
  }
  if (!run.listed) return seen;
  return {first_place(indices, run.begin, run.end, seen.begin),
          first_place(indices, run.begin, run.end, seen.end)};
}

/// The windows of a tile's rows within keys [first, first + count), counted from `first`.
struct TileWindow {
  std::int32_t begin[row_tile];
  std::int32_t end[row_tile];
  std::int32_t any_begin, any_end;  // at least one row attends to the key, if any does
  std::int32_t all_begin, all_end;  // every row attends to it; may be empty (begin > end)
};

constexpr std::int32_t row_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

ATTNSCOPE_INLINE Integers clamped(Integers x, Integers low, Integers high) {
  const Integers raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/// Returns false if no row has any key.
ATTNSCOPE_INLINE bool tile_window(const RowChunk& chunk, const Segment& segment,
                                  std::int64_t first_row, int rows, std::int64_t first,
                                  std::int32_t count, TileWindow& window) {
  if (segment.kind == SegmentKind::whole) {
    for (int x = 0; x < row_tile; x += lanes) {
      store(window.begin + x, Integers{});
      store(window.end + x, splat(count));
    }
  } else if (segment.kind == SegmentKind::band && !chunk.queries.listed && !segment.keys.listed) {
    const std::int64_t w = capped_window(segment);
    const std::int64_t opposite = chunk.queries.begin + first_row + segment.offset - first;
    constexpr std::int64_t far = std::int64_t{1} << 30;
    const auto begin = static_cast<std::int32_t>(clamped(opposite - w, -far, far));
    const auto end = static_cast<std::int32_t>(clamped(opposite + w + 1, -far, far));
    for (int x = 0; x < row_tile; x += lanes) {
      const Integers row = load(row_numbers + x);
      store(window.begin + x, clamped(splat(begin) + row, Integers{}, splat(count)));
      store(window.end + x, clamped(splat(end) + row, Integers{}, splat(count)));
    }
  } else {
    for (int r = 0; r < row_tile; ++r) {
      const int row = r < rows ? r : rows - 1;
      const Positions seen =
          seen_by(segment, chunk.indices, token_of(chunk.queries, chunk.indices, first_row + row));
      window.begin[r] = static_cast<std::int32_t>(clamped(seen.begin - first, 0, count));
      window.end[r] = static_cast<std::int32_t>(clamped(seen.end - first, 0, count));
    }
  }
  window.any_begin = window.begin[0];
  window.any_end = window.end[rows - 1];
  window.all_begin = window.begin[rows - 1];
  window.all_end = window.end[0];
  return window.any_begin < window.any_end;
}

/// Calls visit(position) for the skipped keys of `segment` among positions [begin, end), ascending.
template <typename Visit>
ATTNSCOPE_INLINE void for_each_skipped(const Segment& segment, const std::int64_t* indices,
                                       std::int64_t begin, std::int64_t end, const Visit& visit) {
  if (segment.skip_begin >= segment.skip_end || begin >= end) return;
  const TokenRun& run = segment.keys;
  const std::int64_t first = run.listed ? indices[begin] : begin;
  const std::int64_t last = run.listed ? indices[end - 1] : end - 1;
  std::int64_t skip = first_place(indices, segment.skip_begin, segment.skip_end, first);
  for (; skip < segment.skip_end && indices[skip] <= last; ++skip) {
    if (!run.listed) {
      visit(indices[skip]);
      continue;
    }
    const std::int64_t place = first_place(indices, begin, end, indices[skip]);
    if (place < end && indices[place] == indices[skip]) visit(place);
  }
}

/// Calls visit(begin, end) for the intervals of positions [begin, end) between skipped keys.
template <typename Visit>
ATTNSCOPE_INLINE void for_each_kept(const Segment& segment, const std::int64_t* indices,
                                    std::int64_t begin, std::int64_t end, const Visit& visit) {
  std::int64_t kept = begin;
  for_each_skipped(segment, indices, begin, end, [&](std::int64_t position) {
    if (kept < position) visit(kept, position);
    kept = position + 1;
  });
  if (kept < end) visit(kept, end);
}

/// The positions of `segment` to which any row of the chunk attends, and gaps between them.
inline Positions seen_by_chunk(const RowChunk& chunk, const Segment& segment) {
  const std::int64_t rows = chunk.queries.end - chunk.queries.begin;
  const Positions first =
      seen_by(segment, chunk.indices, token_of(chunk.queries, chunk.indices, 0));
  const Positions last =
      seen_by(segment, chunk.indices, token_of(chunk.queries, chunk.indices, rows - 1));
  return {first.begin, last.end};
}

}  // namespace
}  // namespace attnscope::cpu
