#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface of our kernels on one device for torch_function.cpp. Includes LibTorch; errors are
// std::invalid_argument with one sentence.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

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

/// Defined in torch_function_on_cuda.cpp. The device data of a plan (the kernel's work list and
/// scratch memory) are made by the first call with that plan and kept as long as the plan.
[[nodiscard]] PlanKernels segment_kernels_on_cuda();
[[nodiscard]] PlanKernels windowed_kernels_on_cuda();

}  // namespace attnscope
