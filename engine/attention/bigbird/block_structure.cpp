// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/bigbird/block_structure.h"

#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace attnscope {
namespace {

/// The fewest blocks with a row between the second block and the second-to-last.
constexpr std::int64_t fewest_blocks = 5;

using Tasks = std::vector<const Task*>;

bool is_plain(const Segment& segment) {
  return segment.kind == SegmentKind::whole && !segment.keys.listed &&
         segment.skip_begin == segment.skip_end;
}

/// Whether every row of the item attends to all of it. Segments of a task are disjoint, so
/// comparing sizes suffices.
bool is_full(const AttentionPlan& plan, const Tasks& tasks, TokenRange item) {
  return std::ranges::all_of(tasks, [&](const Task* task) {
    std::int64_t keys = 0;
    for (const Segment& segment : plan.segments_of(*task)) {
      if (!is_plain(segment)) return false;
      keys += segment.keys.size();
    }
    return keys == item.size();
  });
}

/// Reads the blocks of one item.
class ItemReader {
 public:
  ItemReader(const AttentionPlan& plan, TokenRange item) : plan_(plan), item_(item) {}

  Result<BlockGroup> read(const Tasks& tasks) {
    group_.length = tasks.front()->queries.size();
    group_.blocks = (item_.size() + group_.length - 1) / group_.length;
    if (group_.blocks < fewest_blocks) {
      return fail("the item that begins at token {} has {} blocks; at least {} are needed",
                  item_.begin, group_.blocks, fewest_blocks);
    }
    // First, so that lists are made only for plans that probably have blocks.
    for (const Task* task : tasks) {
      const TokenRange rows{task->queries.begin, task->queries.end};
      if (task->queries.listed || rows != tokens_of(block_of(*task))) {
        return fail("not all of its rows are in blocks of {} tokens", group_.length);
      }
    }
    lists_.resize(static_cast<std::size_t>(plan_.heads * (group_.blocks - 2)));
    for (const Task* task : tasks) {
      if (Status done = read_task(*task); !done) return tl::unexpected(done.error());
    }
    return join_lists();
  }

 private:
  Status read_task(const Task& task) {
    const TokenRange rows{task.queries.begin, task.queries.end};
    const std::int64_t block = block_of(task);
    Result<std::vector<char>> seen = blocks_seen_by(task, rows);
    if (!seen) return tl::unexpected(seen.error());
    const std::int64_t last = group_.blocks - 1;
    if (block == 0 || block == last) {
      if (std::ranges::count(*seen, 0) == 0) return {};
      return fail(
          "the first and the last block of an item must attend to all of it, and tokens {} to "
          "{} do not",
          rows.begin, rows.end - 1);
    }
    for (const std::int64_t fixed : {std::int64_t{0}, block - 1, block, block + 1, last}) {
      char& flag = (*seen)[static_cast<std::size_t>(fixed)];
      if (flag == 0) {
        return fail(
            "tokens {} to {} do not attend to block {} of their item, an outer or neighbouring "
            "block",
            rows.begin, rows.end - 1, fixed);
      }
      flag = 2;
    }
    std::vector<std::int64_t> random;
    for (std::int64_t b = 0; b <= last; ++b) {
      if ((*seen)[static_cast<std::size_t>(b)] == 1) random.push_back(b);
    }
    for (std::int32_t head = task.heads.begin; head < task.heads.end; ++head) {
      lists_[static_cast<std::size_t>(head * (last - 1) + block - 1)] = random;
    }
    return {};
  }

  /// A flag for each block of the item.
  Result<std::vector<char>> blocks_seen_by(const Task& task, TokenRange rows) const {
    std::vector<char> seen(static_cast<std::size_t>(group_.blocks));
    for (const Segment& segment : plan_.segments_of(task)) {
      const TokenRange keys{segment.keys.begin, segment.keys.end};
      const std::int64_t begin = keys.begin - item_.begin;
      const bool whole_blocks =
          is_plain(segment) && begin >= 0 && begin % group_.length == 0 &&
          (keys.end == item_.end ||
           (keys.end < item_.end && (keys.end - item_.begin) % group_.length == 0));
      if (!whole_blocks) {
        return fail(
            "tokens {} to {} attend to keys other than whole blocks of {} tokens of their item",
            rows.begin, rows.end - 1, group_.length);
      }
      const auto first = seen.begin() + begin / group_.length;
      std::fill(first, first + (keys.size() + group_.length - 1) / group_.length, char{1});
    }
    return seen;
  }

  Result<BlockGroup> join_lists() {
    group_.random = static_cast<std::int64_t>(lists_.front().size());
    for (const std::vector<std::int64_t>& list : lists_) {
      if (static_cast<std::int64_t>(list.size()) != group_.random) {
        return fail("some of its blocks attend to {} random blocks and some to {}", group_.random,
                    list.size());
      }
      group_.random_blocks.insert(group_.random_blocks.end(), list.begin(), list.end());
    }
    return std::move(group_);
  }

  std::int64_t block_of(const Task& task) const {
    return (task.queries.begin - item_.begin) / group_.length;
  }
  TokenRange tokens_of(std::int64_t block) const {
    const std::int64_t begin = item_.begin + block * group_.length;
    return {begin, std::min(begin + group_.length, item_.end)};
  }

  const AttentionPlan& plan_;
  TokenRange item_;
  BlockGroup group_;
  std::vector<std::vector<std::int64_t>> lists_;  // [heads, middle blocks]
};

void add_item(BlockStructure& structure, BlockGroup item, TokenRange tokens) {
  const auto alike = [&](const BlockGroup& other) {
    return other.length == item.length && other.blocks == item.blocks &&
           other.random_blocks == item.random_blocks;
  };
  auto group = std::ranges::find_if(structure.groups, alike);
  if (group == structure.groups.end()) {
    structure.groups.push_back(std::move(item));
    group = structure.groups.end() - 1;
  }
  if (!group->runs.empty()) {
    ItemRun& run = group->runs.back();
    if (run.first.size() == tokens.size() &&
        run.first.begin + run.count * tokens.size() == tokens.begin) {
      ++run.count;
      return;
    }
  }
  group->runs.push_back({.first = tokens, .before = group->items()});
}

}  // namespace

Result<BlockStructure> block_structure(const AttentionPlan& plan, const SequenceLayout& layout) {
  if (layout.shares_query()) return fail("a shared query is not part of its items' blocks");
  std::vector<Tasks> tasks_of(static_cast<std::size_t>(layout.item_count()));
  for (const Task& task : plan.tasks) {
    if (task.queries.size() == 0) continue;
    if (task.item < 0 || task.item >= layout.item_count()) {
      return fail("some of its rows belong to no item");
    }
    tasks_of[static_cast<std::size_t>(task.item)].push_back(&task);
  }
  BlockStructure structure;
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const TokenRange tokens = layout.item_tokens(i);
    const Tasks& tasks = tasks_of[static_cast<std::size_t>(i)];
    if (tokens.empty() || tasks.empty()) continue;
    BlockGroup group;
    if (!is_full(plan, tasks, tokens)) {
      Result<BlockGroup> blocks = ItemReader(plan, tokens).read(tasks);
      if (!blocks) return tl::unexpected(blocks.error());
      group = std::move(*blocks);
    }
    add_item(structure, std::move(group), tokens);
  }
  return structure;
}

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
