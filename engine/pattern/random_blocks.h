#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The random blocks of a block pattern (BigBird: Zaheer et al., NeurIPS 2020, section 2): which
// further blocks a middle block sees. A pure function of its arguments, alike on every machine.
//
//   random_blocks(3, {.seed = 1, .blocks = 16, .head = 0, .block = 7});   // {2, 9, 10}

#include <cstdint>
#include <vector>

namespace attnscope {

/// Whose draw it is: equal draws are equal, and any field makes it another.
struct BlockDraw {
  std::int64_t seed = 1;
  std::int64_t blocks = 0;  // of the item
  std::int32_t head = 0;
  std::int64_t block = 0;  // 1 ... blocks - 2
};

/// `count` blocks, ascending, each once, of the middle blocks 1 ... blocks - 2 that are neither the
/// block itself nor its neighbours. Precondition: there are so many, as in items of more than
/// 5 + 2 count blocks always.
[[nodiscard]] std::vector<std::int64_t> random_blocks(std::int64_t count, const BlockDraw& draw);

}  // namespace attnscope
