#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The blocks of a BigBird plan (Zaheer et al., NeurIPS 2020), read only from its tasks, so that a
// plan built by hand with other random blocks works as well as a compiled one; and the parts of
// these blocks that are computed separately.
//
//   Result<BlockStructure> structure = block_structure(plan, layout);
//   structure->groups[0].random_block(/*head=*/0, /*block=*/5, /*i=*/2);

#include <ATen/core/Tensor.h>

#include <array>
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

/// The parts that BigBird's authors compute separately (Zaheer et al., NeurIPS 2020, appendix D):
///
///   outer      the first and the last block of an item against all of its tokens
///   alongside  the second and the second-to-last block against 4 + random blocks
///   middle     every other block against 5 + random blocks
enum class BlockPart : std::uint8_t { outer, alongside, middle };
inline constexpr std::array block_parts{BlockPart::outer, BlockPart::alongside, BlockPart::middle};

/// Number of products of a part, and their rows and columns.
struct PartShape {
  std::int64_t products = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  [[nodiscard]] std::int64_t scores() const { return products * rows * columns; }
};

/// The rows of a group of items by part, each with its keys as dense matrices. Blocks are
/// [matrices, blocks, length, dim], with a matrix for each item and head.
class BlockParts {
 public:
  BlockParts(const BlockGroup& group, std::int64_t heads, at::Device device);

  [[nodiscard]] static PartShape shape(const BlockGroup& group, std::int64_t heads, BlockPart part);
  /// Size of the index lists in bytes.
  [[nodiscard]] static std::int64_t index_bytes(const BlockGroup& group, std::int64_t heads);

  /// [products, rows, dim]: a copy, because the part's blocks are not contiguous.
  [[nodiscard]] at::Tensor rows(BlockPart part, const at::Tensor& blocks) const;
  /// [products, columns, dim]; a view for the outer part, otherwise a copy gathered block by block.
  [[nodiscard]] at::Tensor columns(BlockPart part, const at::Tensor& blocks) const;
  /// Adds the gradient of `columns` to the float32 sums [matrices, blocks, length, dim].
  void add_columns(BlockPart part, const at::Tensor& gradient, const at::Tensor& sums) const;

  /// Masks the padding after a shorter last block in scores [products, rows, columns]. Not recorded
  /// by autograd: the softmax's gradient is zero where its weight is zero.
  void hide_padding(BlockPart part, const at::Tensor& scores) const;
  /// Copies a part's rows to rows [items, heads, tokens, dim] of one of the group's runs.
  void put_rows(BlockPart part, const at::Tensor& rows, const ItemRun& run,
                const at::Tensor& target) const;

 private:
  [[nodiscard]] PartShape shape(BlockPart part) const { return shape(group_, heads_, part); }

  const BlockGroup& group_;
  std::int64_t heads_;
  at::Tensor alongside_, middle_, random_;  // row indices into [matrices * blocks, length * dim]
};

}  // namespace attnscope
