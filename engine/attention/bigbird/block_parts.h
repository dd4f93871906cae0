#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rows of a group of items in the parts that BigBird's authors compute separately (Zaheer et
// al., NeurIPS 2020, appendix D), each with its keys as dense matrices:
//
//   outer   the first and the last block of an item against all of its tokens
//   beside  the second and the second-to-last block against 4 + random blocks
//   middle  every other block against 5 + random blocks
//
// Blocks are [matrices, blocks, length, dim], with a matrix for each item and head.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "engine/attention/bigbird/block_structure.h"

namespace attnscope {

enum class BlockPart : std::uint8_t { outer, alongside, middle };
inline constexpr std::array block_parts{BlockPart::outer, BlockPart::alongside, BlockPart::middle};

/// Number of products of a part, and their rows and columns.
struct PartShape {
  std::int64_t products = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  [[nodiscard]] std::int64_t scores() const { return products * rows * columns; }
};

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
