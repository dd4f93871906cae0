// SPDX-License-Identifier: Apache-2.0
//
// The values step: a group of rows shares each value it loads.
#pragma once

#include "kernels/cpu/inner/windowed_group.h"
#include "kernels/cpu/inner/windowed_rows.h"

namespace attnscope::cpu {
namespace {

/// Adds the values of positions [begin, end) of the block to a group of rows.
ATTNSCOPE_INLINE void add_stretch(const WindowedChunk& chunk, const RowWindows<group_size>& seen,
                                  std::int64_t begin, std::int64_t end, int rows,
                                  const float* values, std::int64_t padded, float* const* out) {
  const float* weights = chunk.scores;
  if (rows == 1) {
    const std::int64_t first = most(seen.begin[0], begin), last = least(seen.end[0], end);
    return add_values_to_row(weights + (seen.score[0] + first), values + first * padded, padded,
                             most(last - first, 0), out[0]);
  }
  GroupWindow window;
  for (int g = 0; g < group_size; ++g) {
    window.begin[g] = clamped(seen.begin[g], begin, end);
    window.end[g] = clamped(seen.end[g], begin, end);
  }
  add_windows_to(
      window, [&](int g, std::int64_t p) { return weights[seen.score[g] + p]; }, values, padded,
      rows, out);
}

inline void add_block(const WindowedChunk& chunk, const KeyBlock& block, const float* values,
                      float* outputs) {
  const std::int64_t count = row_count(chunk.rows), padded = padded_dim(chunk.rows.head_dim);
  for (std::int64_t first = 0; first < count; first += group_size) {
    const int rows = static_cast<int>(least(count - first, group_size));
    RowWindows<group_size> seen;
    find_windows(chunk, block, first, rows, seen);
    float* out[group_size];
    for (int g = 0; g < rows; ++g) out[g] = outputs + (first + g) * padded;
    for_each_kept(*block.segment, chunk.rows.indices, block.first + seen.begin[0],
                  block.first + seen.end[rows - 1], [&](std::int64_t begin, std::int64_t end) {
                    add_stretch(chunk, seen, begin - block.first, end - block.first, rows, values,
                                padded, out);
                  });
  }
}

void windowed_values(const WindowedChunk& chunk) {
  const RowChunk& rows = chunk.rows;
  const std::int64_t count = row_count(rows), padded = padded_dim(rows.head_dim);
  alignas(64) float outputs[room_floats];
  alignas(64) float room[room_floats];
  std::memset(outputs, 0, sizeof(float) * static_cast<std::size_t>(count * padded));
  for_each_block(chunk, block_keys(rows.head_dim), [&](const KeyBlock& block) {
    add_block(chunk, block,
              packed_rows(rows.v, rows, *block.segment, block.first, block.count, room), outputs);
  });
  for_each_row(rows.o, rows.queries, rows.indices, [&](std::int64_t r, std::int64_t offset) {
    store_row(outputs + r * padded, rows.head_dim, rows.scale, rows.o, offset);
  });
}

}  // namespace
}  // namespace attnscope::cpu
