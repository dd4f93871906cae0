// SPDX-License-Identifier: Apache-2.0
//
// Keys or values as the products want them: rows of `padded` floats, one after another. Where they
// lie so in memory they are used in place; else (token-major, listed keys, head dimensions that are
// no multiple of the lanes) they are packed once a chunk. Packing matters beyond the copy: rows
// 12 heads apart fall into few sets of the first-level cache and drive each other out.
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

ATTNSCOPE_INLINE void prefetch_row(const float* row, std::int64_t d) {
  for (std::int64_t c = 0; c < d; c += 16) __builtin_prefetch(row + c);
}

/// Keys of one block: as many as fit `piece_floats`.
ATTNSCOPE_INLINE std::int64_t block_keys(std::int64_t d) {
  return clamped(piece_floats / d, smallest_key_block, largest_key_block);
}

ATTNSCOPE_INLINE bool lies_packed(const HeadView<const float>& view, const Segment& segment,
                                  std::int64_t d) {
  return !segment.keys.listed && view.token_stride == d && d % lanes == 0;
}

/// Rows of positions [begin, begin + count) of the segment's key run, packed into `room` if need
/// be.
inline const float* packed_rows(const HeadView<const float>& view, const RowChunk& chunk,
                                const Segment& segment, std::int64_t begin, std::int64_t count,
                                float* room) {
  const std::int64_t d = chunk.head_dim;
  if (segment.keys.listed) {
    for (std::int64_t j = 0; j < count; ++j) {
      copy_padded(view.data + offset_of(view, chunk.indices[begin + j]), d, padded_dim(d),
                  room + j * padded_dim(d));
    }
    return room;
  }
  const float* first = view.data + offset_of(view, begin);
  if (lies_packed(view, segment, d)) return first;
  for (std::int64_t j = 0; j < count; ++j) {
    if (j + rows_ahead < count) prefetch_row(first + (j + rows_ahead) * view.token_stride, d);
    copy_padded(first + j * view.token_stride, d, padded_dim(d), room + j * padded_dim(d));
  }
  return room;
}

}  // namespace
}  // namespace attnscope::cpu
