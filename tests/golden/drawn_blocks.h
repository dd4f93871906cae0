#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BigBird's block-sparse attention (Zaheer et al., 2020) over blocks that someone else drew, as a
// plan made by hand: the first and the last block see all and are seen by all; every other block
// sees itself, its two neighbours and the blocks drawn for it and the head.

#include <cstdint>
#include <vector>

#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::tests {

/// blocks[(head * rows + row) * per_row + i]: what block row + 1 sees beside the fixed ones, the
/// same in every item.
struct DrawnBlocks {
  std::int64_t heads = 0;
  std::int64_t rows = 0;  // all blocks but the first and the last
  std::int64_t per_row = 0;
  std::int64_t block_length = 0;  // in tokens; an item's last block may be shorter
  std::vector<std::int64_t> blocks;
};

[[nodiscard]] AttentionPlan plan_of_drawn_blocks(const SequenceLayout& layout,
                                                 const DrawnBlocks& drawn);

}  // namespace attnscope::tests
