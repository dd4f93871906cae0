// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/assembled_work.h"

#include "engine/attention/sdpa/flash_tiles.h"

namespace attnscope {

ExecutedWork assembled_work(const Problem& problem, std::span<const RowGroup> groups) {
  const bool backward = problem.direction == Direction::forward_backward;
  const FlashTile forward_tile = flash_forward_tile(problem.head_dim);
  const FlashTile backward_tile = flash_backward_tile(problem.head_dim);
  const auto heads = static_cast<double>(problem.plan.heads);
  const auto element = static_cast<double>(size_of(problem.dtype));
  double flop = 0;
  double values = 0;  // of head_dim elements, read or written in the problem's dtype
  double sums = 0;    // the same in float32
  for (const RowGroup& group : groups) {
    double rows = 0;
    for (const TokenRange& sequence : group.queries) rows += static_cast<double>(sequence.size());
    const auto parts = static_cast<double>(group.parts.size());
    for (const AttentionPart& part : group.parts) {
      double keys = 0;
      for (std::size_t s = 0; s < part.keys.size(); ++s) {
        const FlashPairs pairs{
            .rows = group.queries[s].size(), .keys = part.keys[s].size(), .window = part.window};
        flop += 2 * 2 * pairs_in_tiles(pairs, forward_tile) * static_cast<double>(forward_tile.dim);
        if (backward) {
          flop +=
              2 * 5 * pairs_in_tiles(pairs, backward_tile) * static_cast<double>(backward_tile.dim);
        }
        keys += static_cast<double>(part.keys[s].size());
      }
      // q, k and v in, o out; then q, k, v, o and grad_o in, three gradients out, sums of keys' and
      // values' read and written.
      values += 2 * rows + 2 * keys;
      if (backward) values += 4 * rows + 4 * keys;
      if (backward) sums += 2 * 2 * keys;
    }
    // Results are merged in float32, a pass a part, and written to their places.
    values += parts * rows + rows;
    if (parts > 1) sums += (2 * parts - 1) * rows + rows;
    if (backward) values += rows + (parts > 1 ? parts * rows : rows);
  }
  return {.flop = heads * flop,
          .bytes = heads * static_cast<double>(problem.head_dim) *
                   (element * values + static_cast<double>(sizeof(float)) * sums)};
}

std::int64_t flash_backward_scratch(std::span<const TokenRange> sequences, std::int64_t heads,
                                    std::int64_t head_dim) {
  constexpr std::int64_t more_rows = 128;
  std::int64_t rows = 0;
  for (const TokenRange& sequence : sequences) rows += sequence.size() + more_rows;
  const std::int64_t multiple = head_dim <= 128 ? 32 : 64;
  const std::int64_t dim = (head_dim + multiple - 1) / multiple * multiple;
  return rows * heads * (dim + 1) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace attnscope
