// SPDX-License-Identifier: Apache-2.0
//
// Keys or values in the form that the products need: consecutive rows of `padded` floats. Rows that
// already have this form are used in place; others (token-major, listed keys, 16-bit numbers, head
// dimensions that are not a multiple of the lanes) are packed once per chunk. Packing also avoids
// cache conflicts: rows 12 heads apart map to few sets of the first-level cache and evict each
// other.
#pragma once

#include "kernels/cpu/inner/key_window.h"

namespace attnscope::cpu {
namespace {

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

/// The first `count` numbers at `p`, followed by zeros. 16-bit numbers go through a buffer, since
/// most instruction sets have no masked load for them.
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
                                   std::int64_t count, float* room, const Widen& widen) {
  const std::int64_t padded = padded_dim(d);
  const std::int64_t whole = d / lanes * lanes;
  for (std::int64_t j = 0; j < count; ++j, from += stride, room += padded) {
    const auto* later = reinterpret_cast<const std::byte*>(from + rows_ahead * stride);
    for (std::int64_t at = 0; at < d * static_cast<std::int64_t>(sizeof(Number)); at += 64) {
      __builtin_prefetch(later + at);
    }
    for (std::int64_t c = 0; c < whole; c += lanes) store(room + c, widen(from + c));
    if (whole < d) store(room + whole, widen_first(from + whole, d - whole, widen));
  }
}

/// Copies `count` rows of a tensor a token_stride apart, starting at offset `first`.
inline void pack_run(const HeadView<const std::byte>& view, std::int64_t first, std::int64_t d,
                     std::int64_t count, float* room) {
  const std::int64_t stride = view.token_stride;
  switch (view.dtype) {
    case DType::float32:
      return pack_strided(floats_at(view, first), stride, d, count, room,
                          [](const float* p) { return load(p); });
    case DType::float16:
      return pack_strided(halves_at(view, first), stride, d, count, room,
                          [](const std::uint16_t* p) { return from_float16(load_halves(p)); });
    case DType::bfloat16:
      return pack_strided(halves_at(view, first), stride, d, count, room,
                          [](const std::uint16_t* p) { return from_bfloat16(load_halves(p)); });
  }
}

/// Copies the rows of positions [begin, begin + count) of the segment's key run to `room`.
inline void pack_rows(const HeadView<const std::byte>& view, const RowChunk& chunk,
                      const Segment& segment, std::int64_t begin, std::int64_t count, float* room) {
  const std::int64_t d = chunk.head_dim;
  if (!segment.keys.listed) {
    pack_run(view, offset_of(view, begin), d, count, room);
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    load_row(view, offset_of(view, chunk.indices[begin + j]), d, padded_dim(d),
             room + j * padded_dim(d));
  }
}

/// Rows of positions [begin, begin + count) of the segment's key run, packed into `room` if
/// necessary.
inline const float* packed_rows(const HeadView<const std::byte>& view, const RowChunk& chunk,
                                const Segment& segment, std::int64_t begin, std::int64_t count,
                                float* room) {
  if (lies_packed(view, segment, chunk.head_dim)) return floats_at(view, offset_of(view, begin));
  pack_rows(view, chunk, segment, begin, count, room);
  return room;
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

/// Pointers to the rows of a tile as float32: in the tensor itself, or converted in `room` of
/// tile_floats. Lanes beyond `rows` point to the last row.
inline void rows_in_place(const HeadView<const std::byte>& view, const RowChunk& chunk,
                          std::int64_t first_row, int rows, float* room, const float** row) {
  const std::int64_t d = chunk.head_dim;
  const std::int64_t later = chunk.queries.end - chunk.queries.begin - first_row - row_tile;
  std::int64_t at[row_tile];
  tile_offsets(view, row_places(view, chunk), chunk, first_row, rows, at);
  for (int r = 0; r < rows; ++r) {
    if (r < later) prefetch_row(view, at[r] + row_tile * view.token_stride, d);
    if (view.dtype == DType::float32) {
      row[r] = floats_at(view, at[r]);
    } else {
      load_row(view, at[r], d, padded_dim(d), room + r * padded_dim(d));
      row[r] = room + r * padded_dim(d);
    }
  }
  for (int r = rows; r < row_tile; ++r) row[r] = row[rows - 1];
}

}  // namespace
}  // namespace attnscope::cpu
