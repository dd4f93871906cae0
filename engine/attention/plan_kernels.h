#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What torch_function.cpp needs of our kernels on one device. LibTorch inside; errors are
// std::invalid_argument in one sentence.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/gradients.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

using SharedPlan = std::shared_ptr<const AttentionPlan>;

/// q, k, v and o of a forward call, memory of the device.
struct PlanOperands {
  ConstTensor q, k, v;
  Tensor o;
};

struct PlanKernels {
  Status (*supports)(const AttentionPlan& plan, std::int64_t head_dim);
  /// Returns what the backward needs beside o: the log-sum-exps [tokens, heads] of the one-pass
  /// kernels, the weights of the three steps.
  at::Tensor (*forward)(const SharedPlan& plan, const PlanOperands& operands, float scale);
  void (*backward)(const SharedPlan& plan, GradientTensors tensors, float scale,
                   const at::Tensor& kept);
};

inline void require(const Status& done) {
  if (!done) throw std::invalid_argument(done.error().message);
}

/// torch_function_on_cuda.cpp. What a kernel needs of a plan there - its work list and its own
/// scratch on the device - is made by the first call with that plan and kept while the plan lives.
[[nodiscard]] PlanKernels segment_kernels_on_cuda();
[[nodiscard]] PlanKernels windowed_kernels_on_cuda();

}  // namespace attnscope
