// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/bigbird/block_parts.h"

#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>

#include <limits>
#include <vector>

namespace attnscope {
namespace {

/// Blocks that every middle block attends to: the first, the last, and three neighbours. The second
/// and the second-to-last have an outer block among their neighbours.
constexpr std::int64_t fixed_of_middle = 5;
constexpr std::int64_t fixed_of_alongside = 4;
constexpr std::int64_t slot_of_last = 1;
constexpr std::int64_t slot_of_neighbours = 2;

/// The blocks that a row block attends to, in the order of its columns.
std::vector<std::int64_t> slots_of(const BlockGroup& group, std::int64_t head, std::int64_t block) {
  const std::int64_t last = group.blocks - 1;
  std::vector<std::int64_t> slots{0, last};
  for (std::int64_t near = block - 1; near <= block + 1; ++near) {
    if (near != 0 && near != last) slots.push_back(near);
  }
  for (std::int64_t i = 0; i < group.random; ++i) {
    slots.push_back(group.random_block(head, block, i));
  }
  return slots;
}

class IndexList {
 public:
  void add(std::int64_t matrix, const BlockGroup& group, std::int64_t block) {
    rows_.push_back(matrix * group.blocks + block);
  }
  [[nodiscard]] at::Tensor on(at::Device device) const {
    return at::tensor(rows_, at::TensorOptions().dtype(at::kLong)).to(device);
  }

 private:
  std::vector<std::int64_t> rows_;
};

}  // namespace

BlockParts::BlockParts(const BlockGroup& group, std::int64_t heads, at::Device device)
    : group_(group), heads_(heads) {
  IndexList alongside, middle, random;
  for (std::int64_t matrix = 0; matrix < group.items() * heads; ++matrix) {
    for (std::int64_t block = 1; block < group.blocks - 1; ++block) {
      const bool is_alongside = block == 1 || block == group.blocks - 2;
      for (const std::int64_t seen : slots_of(group, matrix % heads, block)) {
        (is_alongside ? alongside : middle).add(matrix, group, seen);
      }
      for (std::int64_t i = 0; !is_alongside && i < group.random; ++i) {
        random.add(matrix, group, group.random_block(matrix % heads, block, i));
      }
    }
  }
  alongside_ = alongside.on(device);
  middle_ = middle.on(device);
  random_ = random.on(device);
}

PartShape BlockParts::shape(const BlockGroup& group, std::int64_t heads, BlockPart part) {
  const std::int64_t matrices = group.items() * heads;
  const std::int64_t length = group.length;
  switch (part) {
    case BlockPart::outer:
      return {matrices, 2 * length, group.blocks * length};
    case BlockPart::alongside:
      return {matrices * 2, length, (fixed_of_alongside + group.random) * length};
    case BlockPart::middle:
      return {matrices * (group.blocks - 4), length, (fixed_of_middle + group.random) * length};
  }
  return {};
}

std::int64_t BlockParts::index_bytes(const BlockGroup& group, std::int64_t heads) {
  const std::int64_t middle = group.blocks - 4;
  const std::int64_t rows =
      2 * (fixed_of_alongside + group.random) + middle * (fixed_of_middle + 2 * group.random);
  return group.items() * heads * rows * static_cast<std::int64_t>(sizeof(std::int64_t));
}

at::Tensor BlockParts::rows(BlockPart part, const at::Tensor& blocks) const {
  const std::int64_t count = group_.blocks;
  const PartShape its = shape(part);
  const auto matrices = [&](const at::Tensor& chosen) {
    return chosen.reshape({its.products, its.rows, blocks.size(3)});
  };
  switch (part) {
    case BlockPart::outer:
      return matrices(blocks.slice(1, 0, count, count - 1));
    case BlockPart::alongside:
      return matrices(blocks.slice(1, 1, count - 1, count - 3));
    case BlockPart::middle:
      return matrices(blocks.slice(1, 2, count - 2));
  }
  return {};
}

at::Tensor BlockParts::columns(BlockPart part, const at::Tensor& blocks) const {
  const PartShape its = shape(part);
  if (part == BlockPart::outer) return blocks.view({its.products, its.columns, blocks.size(3)});
  return blocks.view({blocks.size(0) * blocks.size(1), blocks.size(2) * blocks.size(3)})
      .index_select(0, part == BlockPart::alongside ? alongside_ : middle_)
      .view({its.products, its.columns, blocks.size(3)});
}

void BlockParts::add_columns(BlockPart part, const at::Tensor& gradient,
                             const at::Tensor& sums) const {
  const std::int64_t matrices = sums.size(0);
  const std::int64_t length = sums.size(2);
  const std::int64_t dim = sums.size(3);
  if (part == BlockPart::outer) {
    sums.add_(gradient.view(sums.sizes()));
    return;
  }
  const at::Tensor flat = sums.view({matrices * sums.size(1), length * dim});
  if (part == BlockPart::alongside) {
    // The gradient of keys is transposed.
    flat.index_add_(0, alongside_, gradient.to(at::kFloat).reshape({-1, length * dim}));
    return;
  }
  // Blocks shared by many rows are summed, and adjacent ones are added directly; only the random
  // blocks are added one by one.
  const std::int64_t rows = group_.blocks - 4;
  const at::Tensor slots =
      gradient.view({matrices, rows, fixed_of_middle + group_.random, length, dim});
  const auto slot = [&](std::int64_t i) { return slots.select(2, i); };
  sums.select(1, 0).add_(at::sum(slot(0), {1}, /*keepdim=*/false, at::kFloat));
  sums.select(1, group_.blocks - 1)
      .add_(at::sum(slot(slot_of_last), {1}, /*keepdim=*/false, at::kFloat));
  for (std::int64_t near = 0; near < 3; ++near) {
    sums.narrow(1, 1 + near, rows).add_(slot(slot_of_neighbours + near));
  }
  if (group_.random == 0) return;
  const at::Tensor drawn = slots.slice(2, fixed_of_middle);
  flat.index_add_(0, random_, drawn.to(at::kFloat).reshape({-1, length * dim}));
}

void BlockParts::hide_padding(BlockPart part, const at::Tensor& scores) const {
  const PartShape its = shape(part);
  const at::Tensor by_item =
      scores.detach().view({group_.items(), its.products / group_.items() * its.rows, its.columns});
  const std::int64_t slot = part == BlockPart::outer ? group_.blocks - 1 : slot_of_last;
  for (const ItemRun& run : group_.runs) {
    const std::int64_t tokens = group_.last_block_tokens(run);
    if (tokens == group_.length) continue;
    by_item.narrow(0, run.before, run.count)
        .narrow(2, slot * group_.length + tokens, group_.length - tokens)
        .fill_(-std::numeric_limits<float>::infinity());
  }
}

void BlockParts::put_rows(BlockPart part, const at::Tensor& rows, const ItemRun& run,
                          const at::Tensor& target) const {
  const std::int64_t length = group_.length;
  const at::Tensor by_item =
      rows.view({group_.items(), heads_, -1, rows.size(-1)}).narrow(0, run.before, run.count);
  const auto put = [&](std::int64_t from, std::int64_t to, std::int64_t tokens) {
    target.narrow(2, to, tokens).copy_(by_item.narrow(2, from, tokens));
  };
  const std::int64_t last = group_.blocks - 1;
  switch (part) {
    case BlockPart::outer:
      put(0, 0, length);
      put(length, last * length, group_.last_block_tokens(run));
      break;
    case BlockPart::alongside:
      put(0, length, length);
      put(length, (last - 1) * length, length);
      break;
    case BlockPart::middle:
      put(0, 2 * length, (group_.blocks - 4) * length);
      break;
  }
}

}  // namespace attnscope
