// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/bigbird/block_structure.h"

#include <algorithm>
#include <span>

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
      return fail("the tokens from {} on are {} blocks, and there are to be at least {}",
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
    Result<std::vector<char>> seen = seen_by(task, rows);
    if (!seen) return tl::unexpected(seen.error());
    const std::int64_t last = group_.blocks - 1;
    if (block == 0 || block == last) {
      if (std::ranges::count(*seen, 0) == 0) return {};
      return fail(
          "the first and the last block of an item are to see all of it, and tokens {} to "
          "{} do not",
          rows.begin, rows.end - 1);
    }
    for (const std::int64_t fixed : {std::int64_t{0}, block - 1, block, block + 1, last}) {
      char& flag = (*seen)[static_cast<std::size_t>(fixed)];
      if (flag == 0) {
        return fail(
            "tokens {} to {} do not see block {} of their item, an outer or a neighbouring one",
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
  Result<std::vector<char>> seen_by(const Task& task, TokenRange rows) const {
    std::vector<char> seen(static_cast<std::size_t>(group_.blocks));
    for (const Segment& segment : plan_.segments_of(task)) {
      const TokenRange keys{segment.keys.begin, segment.keys.end};
      const std::int64_t begin = keys.begin - item_.begin;
      const bool whole_blocks =
          is_plain(segment) && begin >= 0 && begin % group_.length == 0 &&
          (keys.end == item_.end ||
           (keys.end < item_.end && (keys.end - item_.begin) % group_.length == 0));
      if (!whole_blocks) {
        return fail("tokens {} to {} see other keys than whole blocks of {} tokens of their item",
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
        return fail("some of its blocks see {} random ones and some {}", group_.random,
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
  if (layout.shares_query()) return fail("a shared query stands apart from its items' blocks");
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

}  // namespace attnscope
