#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rectangles of query rows x key columns that implementations without segments compute for a
// plan, one per item. A uniform batch is a single block, repeated.
//
//   for (const Block& block : blocks_of(problem))
//     for (std::int64_t row = 0; row < block.rows(); ++row)
//       visible_columns(problem.plan, tasks, block, row, /*head=*/0);   // the mask, as runs

#include <cstdint>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

/// Rows `queries` against columns `shared_keys`, then `own_keys`; with `batch` > 1, item b has the
/// same block, shifted by b * queries.size() tokens.
struct Block {
  TokenRange queries;
  TokenRange shared_keys{};  // the shared query's tokens, or empty
  TokenRange own_keys{};
  std::int64_t batch = 1;
  [[nodiscard]] std::int64_t rows() const { return queries.size(); }
  [[nodiscard]] std::int64_t columns() const { return shared_keys.size() + own_keys.size(); }
};

/// One block for a uniform batch whose items have the same mask; otherwise one for the shared query
/// (which attends only to itself) and one for each item that has tokens.
[[nodiscard]] std::vector<Block> blocks_of(const SequenceLayout& layout);

/// Whether every query attends to every token of its item in every head. Read from the plan, so a
/// pattern whose rules are all whole is full attention under any name. False for a shared query.
[[nodiscard]] bool is_full_attention(const SequenceLayout& layout, const AttentionPlan& plan);

/// Finds the task of a (query token, head).
class TaskIndex {
 public:
  explicit TaskIndex(const AttentionPlan& plan);
  [[nodiscard]] const Task& task_of(std::int64_t token, std::int32_t head) const;
  /// Whether some task covers only part of the heads, so that masks differ between heads.
  [[nodiscard]] bool differs_by_head() const { return columns_ > 1; }

 private:
  const AttentionPlan& plan_;
  std::int64_t columns_ = 1;
  std::vector<std::int32_t> task_;  // [tokens, 1 or heads]
};

/// The columns of `block` that row `row` attends to in `head`, as ascending disjoint runs.
[[nodiscard]] std::vector<TokenRange> visible_columns(const AttentionPlan& plan,
                                                      const TaskIndex& tasks, const Block& block,
                                                      std::int64_t row, std::int32_t head);

}  // namespace attnscope
