// SPDX-License-Identifier: Apache-2.0
//
// Keys or values as the products want them: rows of `padded` floats, one after another. Where they
// lie so in memory they are used in place; else (token-major, listed keys, 16-bit numbers, head
// dimensions that are no multiple of the lanes) they are packed once a chunk. Packing matters
// beyond the copy: rows 12 heads apart fall into few sets of the first-level cache and drive each
// other out.
#pragma once

#include "kernels/cpu/inner/key_window.h"

namespace attnscope::cpu {
namespace {

ATTNSCOPE_INLINE std::int64_t padded_dim(std::int64_t d) {
  return (d + lanes - 1) / lanes * lanes;
}

/// Rows a stride apart are asked for this far ahead: the processor's own prefetching stops at page
/// ends, which such rows reach after two or three.
constexpr std::int64_t rows_ahead = 12;

/// Keys of one block: as many as fit `piece_floats`.
ATTNSCOPE_INLINE std::int64_t block_keys(std::int64_t d) {
  return clamped(piece_floats / d, smallest_key_block, largest_key_block);
}

ATTNSCOPE_INLINE bool lies_packed(const HeadView<const std::byte>& view, const Segment& segment,
                                  std::int64_t d) {
  return view.dtype == DType::float32 && !segment.keys.listed && view.token_stride == d &&
         d % lanes == 0;
}

/// Copies the rows of positions [begin, begin + count) of the segment's key run to `room`.
inline void pack_rows(const HeadView<const std::byte>& view, const RowChunk& chunk,
                      const Segment& segment, std::int64_t begin, std::int64_t count, float* room) {
  const std::int64_t d = chunk.head_dim;
  if (segment.keys.listed) {
    for (std::int64_t j = 0; j < count; ++j) {
      load_row(view, offset_of(view, chunk.indices[begin + j]), d, padded_dim(d),
               room + j * padded_dim(d));
    }
    return;
  }
  const std::int64_t first = offset_of(view, begin);
  for (std::int64_t j = 0; j < count; ++j) {
    if (j + rows_ahead < count) prefetch_row(view, first + (j + rows_ahead) * view.token_stride, d);
    load_row(view, first + j * view.token_stride, d, padded_dim(d), room + j * padded_dim(d));
  }
}

/// Rows of positions [begin, begin + count) of the segment's key run, packed into `room` if need
/// be.
inline const float* packed_rows(const HeadView<const std::byte>& view, const RowChunk& chunk,
                                const Segment& segment, std::int64_t begin, std::int64_t count,
                                float* room) {
  if (lies_packed(view, segment, chunk.head_dim)) return floats_at(view, offset_of(view, begin));
  pack_rows(view, chunk, segment, begin, count, room);
  return room;
}

/// Whether rows [first_row, first_row + rows) of the chunk lie a token_stride apart.
template <typename Byte>
ATTNSCOPE_INLINE bool is_one_run(const HeadView<Byte>& view, const RowChunk& chunk,
                                 std::int64_t first_row, int rows) {
  const std::int64_t begin = chunk.queries.begin + first_row;
  return !chunk.queries.listed &&
         (view.item_tokens == 0 ||
          begin / view.item_tokens == (begin + rows - 1) / view.item_tokens);
}

/// Offsets of rows [first_row, first_row + rows) of the chunk: within one item, as nearly always,
/// one division finds them all.
template <typename Byte>
ATTNSCOPE_INLINE void tile_offsets(const HeadView<Byte>& view, const RowChunk& chunk,
                                   std::int64_t first_row, int rows, std::int64_t* at) {
  if (is_one_run(view, chunk, first_row, rows)) {
    const std::int64_t first = offset_of(view, chunk.queries.begin + first_row);
    for (int r = 0; r < rows; ++r) at[r] = first + r * view.token_stride;
    return;
  }
  for (int r = 0; r < rows; ++r) {
    at[r] = offset_of(view, token_of(chunk.queries, chunk.indices, first_row + r));
  }
}

constexpr int tile_floats = row_tile * largest_head_dim;

/// Where the rows of a tile lie as float32: in the tensor itself, or converted in `room` of
/// tile_floats. Lanes beyond `rows` point to the last row.
inline void rows_in_place(const HeadView<const std::byte>& view, const RowChunk& chunk,
                          std::int64_t first_row, int rows, float* room, const float** row) {
  const std::int64_t d = chunk.head_dim;
  const std::int64_t later = chunk.queries.end - chunk.queries.begin - first_row - row_tile;
  std::int64_t at[row_tile];
  tile_offsets(view, chunk, first_row, rows, at);
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
