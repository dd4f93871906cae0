#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The blocks of a BigBird plan (Zaheer et al., NeurIPS 2020), read only from its tasks, so that a
// plan built by hand with other random blocks works as well as a compiled one.
//
//   Result<BlockStructure> structure = block_structure(plan, layout);
//   structure->groups[0].random_block(/*head=*/0, /*block=*/5, /*i=*/2);

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Consecutive items of one length.
struct ItemRun {
  TokenRange first;         // the first item's tokens
  std::int64_t count = 1;   // items
  std::int64_t before = 0;  // items of the group before these
};

/// Items with the same number of blocks and the same random blocks; or items with full attention.
struct BlockGroup {
  std::int64_t length = 0;                    // tokens of a block
  std::int64_t blocks = 0;                    // of each item; 0: full attention
  std::int64_t random = 0;                    // random blocks of each middle block
  std::vector<std::int64_t> random_blocks{};  // [heads, blocks - 2, random], ascending
  std::vector<ItemRun> runs{};

  [[nodiscard]] std::int64_t items() const {
    return runs.empty() ? 0 : runs.back().before + runs.back().count;
  }
  /// `block` is 1 ... blocks - 2.
  [[nodiscard]] std::int64_t random_block(std::int64_t head, std::int64_t block,
                                          std::int64_t i) const {
    const std::int64_t row = head * (blocks - 2) + block - 1;
    return random_blocks[static_cast<std::size_t>(row * random + i)];
  }
  /// Tokens in the last block of a run's items.
  [[nodiscard]] std::int64_t last_block_tokens(const ItemRun& run) const {
    return run.first.size() - (blocks - 1) * length;
  }
};

struct BlockStructure {
  std::vector<BlockGroup> groups;
};

/// The blocks of the plan, or an error in one sentence if it has none.
[[nodiscard]] Result<BlockStructure> block_structure(const AttentionPlan& plan,
                                                     const SequenceLayout& layout);

}  // namespace attnscope
