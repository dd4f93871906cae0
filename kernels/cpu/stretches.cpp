// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stretches.h"

#include <algorithm>
#include <limits>

namespace attnscope::cpu {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The first chunk of rows whose first token is not below `token`: tokens ascend with rows.
std::int64_t first_chunk_from(const AttentionPlan& plan, const Task& task, const TaskCut& cut,
                              std::int64_t token) {
  std::int64_t begin = 0, end = cut.row_chunks;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (plan.token_at(task.queries, middle * cut.rows_per_chunk) < token) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool belong_together(const Task& a, const Task& b) {
  return a.item == b.item && a.heads.begin == b.heads.begin && a.heads.end == b.heads.end;
}

}  // namespace

ChunkRange chunks_of(const AttentionPlan& plan, const Task& task, const TaskCut& cut,
                     const Stretch& stretch) {
  if (cut.is_split()) {
    return {divided_up(stretch.number * cut.key_chunks, stretch.count),
            divided_up((stretch.number + 1) * cut.key_chunks, stretch.count)};
  }
  return {first_chunk_from(plan, task, cut, stretch.tokens.begin),
          first_chunk_from(plan, task, cut, stretch.tokens.end)};
}

StretchCursor::StretchCursor(const AttentionPlan& plan, std::int64_t head_dim)
    : plan_(plan), head_dim_(head_dim) {
  enter_group(0, 0);
}

void StretchCursor::enter_group(std::size_t first_task, std::int64_t partials_before) {
  first_task_ = last_task_ = first_task;
  partials_before_[0] = partials_before;
  std::int64_t end_token = 0, pairs = 0, longest_chunk = 0;
  first_token_ = std::numeric_limits<std::int64_t>::max();
  while (last_task_ < plan_.tasks.size() && last_task_ - first_task_ < most_tasks_together) {
    const Task& task = plan_.tasks[last_task_];
    if (!belong_together(task, plan_.tasks[first_task_])) break;
    const std::size_t place = last_task_ - first_task_;
    const TaskCut cut = cut_of(plan_, task, head_dim_, KeyCut::of_long_rows);
    cuts_[place] = cut;
    partials_before_[place + 1] = partials_before_[place] + cut.partial_floats(head_dim_);
    if (cut.rows > 0) {
      first_token_ = std::min(first_token_, plan_.token_at(task.queries, 0));
      end_token = std::max(end_token, plan_.token_at(task.queries, cut.rows - 1) + 1);
    }
    pairs += cut.pairs;
    if (cut.chunks() > 1) {
      longest_chunk =
          std::max(longest_chunk, cut.is_split() ? cut.keys_per_chunk : cut.rows_per_chunk);
    }
    ++last_task_;
  }
  stretches_ = 0;
  head_groups_ = 0;
  if (first_token_ >= end_token) return;
  const std::int64_t tokens = end_token - first_token_;
  stretch_tokens_ = longest_chunk == 0 ? tokens : longest_chunk;
  stretches_ = divided_up(tokens, stretch_tokens_);
  const Task& task = plan_.tasks[first_task_];
  const std::int64_t heads = task.heads.end - task.heads.begin;
  heads_per_unit_ = heads_worthwhile(heads, pairs / stretches_);
  head_groups_ = divided_up(heads, heads_per_unit_);
}

bool StretchCursor::seek(std::int64_t number, Stretch& stretch) {
  while (first_task_ < plan_.tasks.size() && number >= units_before_ + stretches_ * head_groups_) {
    units_before_ += stretches_ * head_groups_;
    enter_group(last_task_, partials_before_[last_task_ - first_task_]);
  }
  if (first_task_ >= plan_.tasks.size()) return false;
  // Heads turn fastest: in token-major memory the heads of the same rows lie side by side.
  const std::int64_t group = (number - units_before_) % head_groups_;
  const std::int64_t at = (number - units_before_) / head_groups_;
  const Task& task = plan_.tasks[first_task_];
  stretch.first_task = first_task_;
  stretch.last_task = last_task_;
  stretch.tokens = {first_token_ + at * stretch_tokens_, first_token_ + (at + 1) * stretch_tokens_};
  stretch.number = at;
  stretch.count = stretches_;
  stretch.first_head = task.heads.begin + group * heads_per_unit_;
  stretch.last_head = std::min<std::int64_t>(stretch.first_head + heads_per_unit_, task.heads.end);
  return true;
}

}  // namespace attnscope::cpu
