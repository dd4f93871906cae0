#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the scores of the unfused steps stand: task by task, in it head by head, in it row by row;
// a row's part for a segment has 2w+1 floats for a band, the block's length for a block, one a key
// for a whole run.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu/kernel_table.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cpu {

/// Stands for sizes that 64 bits cannot hold.
inline constexpr std::int64_t too_many = std::numeric_limits<std::int64_t>::max();

/// Floats of one row's part for a segment; too_many where they cannot be counted.
[[nodiscard]] std::int64_t columns_of(const Segment& segment);
/// Floats of one row of a task.
[[nodiscard]] std::int64_t columns_of(const AttentionPlan& plan, const Task& task);
/// Rows of a task over all of its heads.
[[nodiscard]] std::int64_t rows_of(const Task& task);

/// Floats of the sums of one chunk of keys (as many as rows of a chunk), padded for the widest
/// vector.
[[nodiscard]] constexpr std::int64_t chunk_floats(std::int64_t head_dim) {
  return chunk_rows(head_dim) * ((head_dim + widest_vector - 1) / widest_vector * widest_vector);
}

[[nodiscard]] constexpr std::int64_t largest_chunk_floats() {
  std::int64_t largest = 0;
  for (std::int64_t d = 1; d <= largest_head_dim; ++d) {
    if (chunk_floats(d) > largest) largest = chunk_floats(d);
  }
  return largest;
}

/// Where each task's scores begin, found task by task as they ascend.
class ScoreCursor {
 public:
  explicit ScoreCursor(const AttentionPlan& plan) : plan_(plan) {}

  /// First float of the scores of `task`, which must not come before that of the call before.
  [[nodiscard]] std::int64_t seek(const Task& task);

 private:
  const AttentionPlan& plan_;
  std::size_t task_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace attnscope::cpu
