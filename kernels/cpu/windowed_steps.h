#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The unfused steps over the whole batch: one kernel, run on every row of a plan by all threads of
// a team, which share a counter. Forward and backward are lists of such steps with barriers between
// them. This file has their data in addition to the scores, and the offsets of each task's scores.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kernel_table.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::cpu {

struct WindowedStep {
  void (*run)(const WindowedChunk&) = nullptr;
  ConstTensor q, k, v;
  Tensor o;
  float* scores = nullptr;         // laid out as in kernels/plan/windowed_layout.h
  const float* weights = nullptr;  // the same layout, for the step that reads both
  float* lse = nullptr;            // [tokens, heads] or null
  float scale = 1.0f;
  float outside = 0.0f;
};

/// Processes chunks of rows until none are left. `next` starts at 0.
void work_off(const AttentionPlan& plan, const WindowedStep& step, std::atomic<std::int64_t>& next);

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

/// The offset of each task's scores, computed task by task in ascending order.
class ScoreCursor {
 public:
  explicit ScoreCursor(const AttentionPlan& plan) : plan_(plan) {}

  /// First float of the scores of `task`, which must not precede that of the previous call.
  [[nodiscard]] std::int64_t seek(const Task& task);

 private:
  const AttentionPlan& plan_;
  std::size_t task_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace attnscope::cpu
