// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/mask.h"

#include <algorithm>

#include "kernels/plan/counts.h"
#include "kernels/plan/key_runs.h"

namespace attnscope {

Mask::Mask(AttentionPlan plan) : plan_(std::move(plan)) {
  const auto rows_of = [&](HeadRange heads) -> HeadRows& {
    for (HeadRows& rows : heads_) {
      if (rows.heads.begin == heads.begin && rows.heads.end == heads.end) return rows;
    }
    heads_.push_back({.heads = heads, .ranges = {}, .listed = {}, .listed_tasks = {}});
    return heads_.back();
  };
  for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
    const Task& task = plan_.tasks[t];
    HeadRows& rows = rows_of(task.heads);
    if (!task.queries.listed) {
      rows.ranges.push_back({task.queries.begin, t});
      continue;
    }
    rows.listed_tasks.push_back(t);
    for (std::int64_t i = 0; i < task.queries.size(); ++i) {
      rows.listed.push_back({plan_.token_at(task.queries, i), t});
    }
  }
  const auto by_token = [](const Row& a, const Row& b) { return a.token < b.token; };
  for (HeadRows& rows : heads_) {
    std::sort(rows.ranges.begin(), rows.ranges.end(), by_token);
    std::sort(rows.listed.begin(), rows.listed.end(), by_token);
  }
}

const Task* Mask::task_of(std::int32_t head, std::int64_t query_token) const {
  const auto after = [](std::int64_t token, const Row& row) { return token < row.token; };
  for (const HeadRows& rows : heads_) {
    if (head < rows.heads.begin || head >= rows.heads.end) continue;
    const auto range = std::upper_bound(rows.ranges.begin(), rows.ranges.end(), query_token, after);
    if (range != rows.ranges.begin()) {
      const Task& task = plan_.tasks[(range - 1)->task];
      if (query_token < task.queries.end) return &task;
    }
    const auto listed =
        std::upper_bound(rows.listed.begin(), rows.listed.end(), query_token, after);
    if (listed != rows.listed.begin() && (listed - 1)->token == query_token) {
      return &plan_.tasks[(listed - 1)->task];
    }
  }
  return nullptr;
}

std::vector<TokenRange> Mask::intervals(std::int32_t head, std::int64_t query_token) const {
  const Task* task = task_of(head, query_token);
  if (task == nullptr) return {};
  return key_intervals(plan_, *task, query_token);
}

double Mask::density(std::int32_t head, TokenRange rows, TokenRange cols) const {
  if (rows.empty() || cols.empty()) return 0;
  std::int64_t pairs = 0;
  for (const HeadRows& of_heads : heads_) {
    if (head < of_heads.heads.begin || head >= of_heads.heads.end) continue;
    // Start at the range that may contain the first row.
    auto range =
        std::upper_bound(of_heads.ranges.begin(), of_heads.ranges.end(), rows.begin,
                         [](std::int64_t token, const Row& row) { return token < row.token; });
    if (range != of_heads.ranges.begin()) --range;
    for (; range != of_heads.ranges.end() && range->token < rows.end; ++range) {
      pairs += pairs_within(plan_, plan_.tasks[range->task], rows, cols);
    }
    for (const std::size_t task : of_heads.listed_tasks) {
      pairs += pairs_within(plan_, plan_.tasks[task], rows, cols);
    }
  }
  return static_cast<double>(pairs) /
         (static_cast<double>(rows.size()) * static_cast<double>(cols.size()));
}

}  // namespace attnscope
