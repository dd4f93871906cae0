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

// Keys or values in the form that the products need: consecutive rows of `padded` floats. Rows that
// already have this form are used in place; others (token-major, listed keys, 16-bit numbers, head
// dimensions that are not a multiple of the lanes) are packed once per chunk. Packing also avoids
// cache conflicts: rows 12 heads apart map to few sets of the first-level cache and evict each
// other.

ATTNSCOPE_INLINE std::int64_t padded_dim(std::int64_t d) {
  return (d + lanes - 1) / lanes * lanes;
}

/// Prefetch distance for rows with a stride: the hardware prefetcher stops at page boundaries,
/// which such rows reach after two or three.
constexpr std::int64_t rows_ahead = 16;

/// Keys of one block: as many as fit `piece_floats`.
ATTNSCOPE_INLINE std::int64_t block_keys(std::int64_t d) {
  return clamped(piece_floats / d, smallest_key_block, largest_key_block);
}

/// Whether rows can be used in place, with a stride, when each is read once.
ATTNSCOPE_INLINE bool lies_plain(const HeadView<const std::byte>& view, const Segment& segment,
                                 std::int64_t d) {
  return view.dtype == DType::float32 && !segment.keys.listed && d % lanes == 0;
}

ATTNSCOPE_INLINE bool lies_packed(const HeadView<const std::byte>& view, const Segment& segment,
                                  std::int64_t d) {
  return lies_plain(view, segment, d) && view.token_stride == d;
}

/// The first `count` numbers at `p`, followed by zeros. 16-bit numbers are copied to a buffer,
/// since most instruction sets have no masked load for them.
template <typename Widen>
ATTNSCOPE_INLINE Vector widen_first(const float* p, std::int64_t count, const Widen& /*widen*/) {
  return load_first(p, count, 0.0f);
}
template <typename Widen>
ATTNSCOPE_INLINE Vector widen_first(const std::uint16_t* p, std::int64_t count,
                                    const Widen& widen) {
  std::uint16_t tail[lanes] = {};
  for (std::int64_t i = 0; i < count; ++i) tail[i] = p[i];
  return widen(tail);
}

/// Copies `count` rows with a stride to rows of padded_dim(d) floats, and prefetches the following
/// rows.
template <typename Number, typename Widen>
ATTNSCOPE_INLINE void pack_strided(const Number* from, std::int64_t stride, std::int64_t d,
                                   std::int64_t count, float* buffer, const Widen& widen) {
  const std::int64_t padded = padded_dim(d);
  const std::int64_t whole = d / lanes * lanes;
  for (std::int64_t j = 0; j < count; ++j, from += stride, buffer += padded) {
    const auto* later = reinterpret_cast<const std::byte*>(from + rows_ahead * stride);
    for (std::int64_t at = 0; at < d * static_cast<std::int64_t>(sizeof(Number)); at += 64) {
      __builtin_prefetch(later + at);
    }
    for (std::int64_t c = 0; c < whole; c += lanes) store(buffer + c, widen(from + c));
    if (whole < d) store(buffer + whole, widen_first(from + whole, d - whole, widen));
  }
}

/// Copies `count` rows of a tensor a token_stride apart, starting at offset `first`.
inline void pack_run(const HeadView<const std::byte>& view, std::int64_t first, std::int64_t d,
                     std::int64_t count, float* buffer) {
  const std::int64_t stride = view.token_stride;
  switch (view.dtype) {
    case DType::float32:
      return pack_strided(floats_at(view, first), stride, d, count, buffer,
                          [](const float* p) { return load(p); });
    case DType::float16:
      return pack_strided(halves_at(view, first), stride, d, count, buffer,
                          [](const std::uint16_t* p) { return from_float16(load_halves(p)); });
    case DType::bfloat16:
      return pack_strided(halves_at(view, first), stride, d, count, buffer,
                          [](const std::uint16_t* p) { return from_bfloat16(load_halves(p)); });
  }
}

/// Copies the rows of positions [begin, begin + count) of the segment's key run to `buffer`.
inline void pack_rows(const HeadView<const std::byte>& view, const RowChunk& chunk,
                      const Segment& segment, std::int64_t begin, std::int64_t count,
                      float* buffer) {
  const std::int64_t d = chunk.head_dim;
  if (!segment.keys.listed) {
    pack_run(view, offset_of(view, begin), d, count, buffer);
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    load_row(view, offset_of(view, chunk.indices[begin + j]), d, padded_dim(d),
             buffer + j * padded_dim(d));
  }
}

/// Rows of positions [begin, begin + count) of the segment's key run, packed into `buffer` if
/// necessary.
inline const float* packed_rows(const HeadView<const std::byte>& view, const RowChunk& chunk,
                                const Segment& segment, std::int64_t begin, std::int64_t count,
                                float* buffer) {
  if (lies_packed(view, segment, chunk.head_dim)) return floats_at(view, offset_of(view, begin));
  pack_rows(view, chunk, segment, begin, count, buffer);
  return buffer;
}

/// Offsets of a chunk's rows: a token_stride apart starting at `first`, unless they are listed or
/// cross items. Other rows cost one division each.
struct RowPlaces {
  bool in_one_run;
  std::int64_t first;
};

template <typename Byte>
ATTNSCOPE_INLINE RowPlaces row_places(const HeadView<Byte>& view, const RowChunk& chunk) {
  const TokenRun& run = chunk.queries;
  if (run.listed) return {false, 0};
  const bool in_one_item =
      view.item_tokens == 0 || run.begin / view.item_tokens == (run.end - 1) / view.item_tokens;
  return {in_one_item, offset_of(view, run.begin)};
}

/// Offsets of rows [first_row, first_row + rows) of the chunk.
template <typename Byte>
ATTNSCOPE_INLINE void tile_offsets(const HeadView<Byte>& view, const RowPlaces& places,
                                   const RowChunk& chunk, std::int64_t first_row, int rows,
                                   std::int64_t* at) {
  if (places.in_one_run) {
    const std::int64_t first = places.first + first_row * view.token_stride;
    for (int r = 0; r < rows; ++r) at[r] = first + r * view.token_stride;
    return;
  }
  for (int r = 0; r < rows; ++r) {
    at[r] = offset_of(view, token_of(chunk.queries, chunk.indices, first_row + r));
  }
}

constexpr int tile_floats = row_tile * largest_head_dim;

/// Pointers to the rows of a tile as float32: in the tensor itself, or converted in `buffer` of
/// tile_floats. Lanes beyond `rows` point to the last row.
inline void rows_in_place(const HeadView<const std::byte>& view, const RowChunk& chunk,
                          std::int64_t first_row, int rows, float* buffer, const float** row) {
  const std::int64_t d = chunk.head_dim;
  const std::int64_t later = chunk.queries.end - chunk.queries.begin - first_row - row_tile;
  std::int64_t at[row_tile];
  tile_offsets(view, row_places(view, chunk), chunk, first_row, rows, at);
  for (int r = 0; r < rows; ++r) {
    if (r < later) prefetch_row(view, at[r] + row_tile * view.token_stride, d);
    if (view.dtype == DType::float32) {
      row[r] = floats_at(view, at[r]);
    } else {
      load_row(view, at[r], d, padded_dim(d), buffer + r * padded_dim(d));
      row[r] = buffer + r * padded_dim(d);
    }
  }
  for (int r = rows; r < row_tile; ++r) row[r] = row[rows - 1];
}

// Forbidden pairs of a tile: keys at the edges of its rows' windows that some rows do not attend
// to.

/// The weight of a forbidden pair in a careful pass; weights are never negative.
constexpr float forbidden = -1.0f;

/// Writes `value` to the lanes where a < b.
ATTNSCOPE_INLINE void store_where_less(Integers a, Integers b, Vector value, float* to) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(
      to, _mm512_cmplt_epi32_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)),
      value);
#else
  store(to, a < b ? value : load(to));
#endif
}

/// Sets forbidden pairs at the edges of the windows to `value`. Windows ascend with the rows, so
/// keys before the first window's end are forbidden only to rows whose windows begin later, and
/// keys from the last window's begin on only to rows whose windows have ended.
ATTNSCOPE_INLINE void mask_edges(const TileWindow& window, float* scores, float value) {
  const Vector forbidden_score = splat(value);
  for (int x = 0; x < row_tile; x += lanes) {
    const Integers begin = load(window.begin + x), end = load(window.end + x);
    float* s = scores + x - window.any_begin * row_tile;
    const std::int32_t begun =
        window.all_begin < window.any_end ? window.all_begin : window.any_end;
    Integers key = splat(window.any_begin);
    for (std::int32_t j = window.any_begin; j < begun; ++j, key += 1) {
      store_where_less(key, begin, forbidden_score, s + j * row_tile);
    }
    const std::int32_t ending =
        window.all_end > window.any_begin ? window.all_end : window.any_begin;
    key = splat(ending);
    for (std::int32_t j = ending; j < window.any_end; ++j, key += 1) {
      store_where_less(end, key + 1, forbidden_score, s + j * row_tile);
    }
  }
}

}  // namespace
}  // namespace attnscope::cpu
