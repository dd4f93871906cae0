#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The unfused steps over the whole batch: one kernel, run on every row of a plan, by all threads of
// a team that share a counter. Forward and backward are lists of such steps with barriers between.

#include <atomic>
#include <cstdint>

#include "kernels/cpu/kernel_table.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

struct WindowedStep {
  void (*run)(const WindowedChunk&) = nullptr;
  ConstTensor q, k, v;
  Tensor o;
  float* scores = nullptr;         // as windowed_layout.h lays them out
  const float* weights = nullptr;  // alike, for the step that reads both
  float* lse = nullptr;            // [tokens, heads] or null
  float scale = 1.0f;
  float outside = 0.0f;
};

/// Takes chunks of rows until none is left. `next` starts at 0.
void work_off(const AttentionPlan& plan, const WindowedStep& step, std::atomic<std::int64_t>& next);

}  // namespace attnscope::cpu
