#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface of our kernels on one device for torch_function.cpp; errors are
// std::invalid_argument with one sentence.

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace at {
class Tensor;
}

namespace attnscope {

using SharedPlan = std::shared_ptr<const AttentionPlan>;

/// q, k, v and o of a forward call, in memory of the device.
struct PlanOperands {
  ConstTensor q, k, v;
  Tensor o;
};

struct PlanKernels {
  Status (*supports)(const AttentionPlan& plan, std::int64_t head_dim);
  /// Returns what the backward needs in addition to o: the log-sum-exps [tokens, heads] of the
  /// one-pass kernels, the weights of the three steps.
  at::Tensor (*forward)(const SharedPlan& plan, const PlanOperands& operands, float scale);
  void (*backward)(const SharedPlan& plan, GradientTensors tensors, float scale,
                   const at::Tensor& kept);
};

inline void require(const Status& done) {
  if (!done) throw std::invalid_argument(done.error().message);
}

/// Defined in torch_function_on_cuda.cpp.
[[nodiscard]] PlanKernels segment_kernels_on_cuda();
[[nodiscard]] PlanKernels windowed_kernels_on_cuda();

namespace cuda {

/// Calls of our kernels on LibTorch's current stream (plan_kernels_on_cuda.cpp). Any number of host
/// threads may use one plan and one stream: every call has its own workspace. The first call of a
/// plan on a stream copies the kernel's work list to the device and cannot be captured into a
/// graph. The list stays as long as the plan, or until the process ends if a later call was
/// captured. `lse` is [tokens, heads]; `weights` are windowed_score_elements(plan) floats.
void segment_forward(const SharedPlan& plan, const PlanOperands& operands, float scale, float* lse);
void segment_backward(const SharedPlan& plan, const GradientTensors& tensors, float scale);
void windowed_forward(const SharedPlan& plan, const PlanOperands& operands, float scale,
                      float* weights);
void windowed_backward(const SharedPlan& plan, const GradientTensors& tensors, float scale,
                       const float* weights);

}  // namespace cuda

}  // namespace attnscope
