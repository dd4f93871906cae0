#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the unfused steps on the CPU keep beside the scores, and where each task's scores begin.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kernel_table.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::cpu {

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
