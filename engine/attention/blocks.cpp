// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/blocks.h"

#include <algorithm>
#include <cassert>

#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

/// Equal sizes do not imply equal masks: sentence starts may differ between items.
bool items_are_alike(const SequenceLayout& layout) {
  if (!layout.is_uniform()) return false;
  for (std::int64_t i = 1; i < layout.item_count(); ++i) {
    if (layout.item(i) != layout.item(0)) return false;
  }
  return true;
}

/// Whether every query of the task attends to every key of the segment's run.
bool covers_its_keys(const Task& task, const Segment& segment) {
  if (segment.skip_begin != segment.skip_end) return false;
  if (segment.kind == SegmentKind::whole) return true;
  if (segment.kind != SegmentKind::band || segment.keys.listed || task.queries.listed) return false;
  const std::int64_t first = task.queries.begin + segment.offset;
  const std::int64_t last = task.queries.end - 1 + segment.offset;
  return last - segment.keys.begin <= segment.window &&
         segment.keys.end - 1 - first <= segment.window;
}

}  // namespace

std::vector<Block> blocks_of(const SequenceLayout& layout) {
  std::vector<Block> blocks;
  if (layout.tokens() == 0) return blocks;
  if (!layout.shares_query() && layout.item_count() > 1 && items_are_alike(layout)) {
    const TokenRange item = layout.item_tokens(0);
    blocks.push_back({.queries = item, .own_keys = item, .batch = layout.item_count()});
    return blocks;
  }
  const TokenRange shared{0, layout.shared_query()};
  if (!shared.empty()) blocks.push_back({.queries = shared, .own_keys = shared});
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const TokenRange item = layout.item_tokens(i);
    if (item.empty()) continue;
    blocks.push_back({.queries = item, .shared_keys = shared, .own_keys = item});
  }
  return blocks;
}

bool is_full_attention(const SequenceLayout& layout, const AttentionPlan& plan) {
  if (layout.shares_query()) return false;
  for (const Task& task : plan.tasks) {
    if (task.queries.size() == 0) continue;
    if (task.item < 0) return false;
    std::int64_t seen = 0;
    for (const Segment& segment : plan.segments_of(task)) {
      if (!covers_its_keys(task, segment)) return false;
      seen += segment.keys.size();
    }
    // The segments of a task are disjoint and inside its item, so comparing sizes suffices.
    if (seen != layout.item_tokens(task.item).size()) return false;
  }
  return true;
}

TaskIndex::TaskIndex(const AttentionPlan& plan) : plan_(plan) {
  for (const Task& task : plan.tasks) {
    if (task.heads.begin != 0 || task.heads.end != plan.heads) columns_ = plan.heads;
  }
  task_.resize(static_cast<std::size_t>(plan.tokens * columns_), -1);
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const Task& task = plan.tasks[t];
    const std::int64_t begin = columns_ > 1 ? task.heads.begin : 0;
    const std::int64_t end = columns_ > 1 ? task.heads.end : 1;
    for (std::int64_t position = 0; position < task.queries.size(); ++position) {
      const std::int64_t token = plan.token_at(task.queries, position);
      for (std::int64_t column = begin; column < end; ++column) {
        task_[static_cast<std::size_t>(token * columns_ + column)] = static_cast<std::int32_t>(t);
      }
    }
  }
}

const Task& TaskIndex::task_of(std::int64_t token, std::int32_t head) const {
  const std::int64_t column = columns_ > 1 ? head : 0;
  const std::int32_t task = task_[static_cast<std::size_t>(token * columns_ + column)];
  assert(task >= 0 && "a plan has every (token, head)");
  return plan_.tasks[static_cast<std::size_t>(task)];
}

std::vector<TokenRange> visible_columns(const AttentionPlan& plan, const TaskIndex& tasks,
                                        const Block& block, std::int64_t row, std::int32_t head) {
  const std::int64_t query = block.queries.begin + row;
  std::vector<TokenRange> columns;
  const auto add = [&](const TokenRange& keys, const TokenRange& within,
                       std::int64_t first_column) {
    const TokenRange seen{std::max(keys.begin, within.begin), std::min(keys.end, within.end)};
    if (seen.empty()) return;
    const std::int64_t shift = first_column - within.begin;
    columns.push_back({seen.begin + shift, seen.end + shift});
  };
  for (const TokenRange& keys : key_intervals(plan, tasks.task_of(query, head), query)) {
    add(keys, block.shared_keys, 0);
    add(keys, block.own_keys, block.shared_keys.size());
  }
  return columns;
}

}  // namespace attnscope
