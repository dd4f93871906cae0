#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan as the mask that a viewer draws, without storing tokens x tokens values.
//
//   Mask mask(plan);
//   for (TokenRange keys : mask.intervals(/*head=*/0, /*query_token=*/17)) draw(17, keys);
//   double grey = mask.density(0, {0, 64}, {64, 128});   // one pixel of a zoomed-out mask

#include <cstdint>
#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope {

class Mask {
 public:
  explicit Mask(AttentionPlan plan);

  [[nodiscard]] const AttentionPlan& plan() const { return plan_; }

  /// The keys of the row: ascending, disjoint, not adjacent. Empty for tokens or heads outside the
  /// plan. O(log tasks + intervals).
  [[nodiscard]] std::vector<TokenRange> intervals(std::int32_t head,
                                                  std::int64_t query_token) const;

  /// Allowed pairs over all pairs of the rectangle, in closed form; 0 for an empty rectangle.
  [[nodiscard]] double density(std::int32_t head, TokenRange rows, TokenRange cols) const;

 private:
  struct Row {
    std::int64_t token = 0;  // first query of a range, or one listed query
    std::size_t task = 0;
  };
  /// The tasks of one head range: ranges by their first query, listed rows individually.
  struct HeadRows {
    HeadRange heads;
    std::vector<Row> ranges;
    std::vector<Row> listed;
    std::vector<std::size_t> listed_tasks;
  };
  [[nodiscard]] const Task* task_of(std::int32_t head, std::int64_t query_token) const;

  AttentionPlan plan_;
  std::vector<HeadRows> heads_;
};

}  // namespace attnscope
