#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The random blocks of a block pattern (BigBird: Zaheer et al., NeurIPS 2020, section 2): the
// further blocks that a middle block attends to. A pure function of its arguments, with the same
// result on every machine.
//
//   random_blocks(3, {.seed = 1, .blocks = 16, .head = 0, .block = 7});   // {2, 9, 10}

#include <cstdint>
#include <vector>

namespace attnscope {

/// Identifies a draw: equal fields give an equal draw, and a change in any field gives another.
struct BlockDraw {
  std::int64_t seed = 1;
  std::int64_t blocks = 0;  // of the item
  std::int32_t head = 0;
  std::int64_t block = 0;  // 1 ... blocks - 2
};

/// `count` distinct blocks, ascending, from the middle blocks 1 ... blocks - 2, without the block
/// itself and its neighbours. Precondition: there are enough of them, which holds for every item of
/// more than 5 + 2 count blocks.
[[nodiscard]] std::vector<std::int64_t> random_blocks(std::int64_t count, const BlockDraw& draw);

}  // namespace attnscope
