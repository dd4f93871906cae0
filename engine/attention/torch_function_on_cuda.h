#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of torch_function.h on CUDA tensors. What a kernel needs of a plan - its work list and
// its own scratch on the device - is made by the first call with that plan and kept while the plan
// lives. LibTorch inside; errors are std::invalid_argument in one sentence.

#include <ATen/core/Tensor.h>

#include <memory>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/gradients.h"
#include "kernels/plan/tensor.h"

namespace attnscope::on_cuda {

/// q, k, v and o of a forward call, device memory.
struct Operands {
  ConstTensor q, k, v;
  Tensor o;
};

[[nodiscard]] Status segment_supports(const AttentionPlan& plan, std::int64_t head_dim);
/// Returns the log-sum-exps [tokens, heads].
[[nodiscard]] at::Tensor segment_forward(const std::shared_ptr<const AttentionPlan>& plan,
                                         const Operands& operands, float scale);
void segment_backward(const std::shared_ptr<const AttentionPlan>& plan,
                      const GradientTensors& tensors, float scale);

[[nodiscard]] Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim);
/// Returns the weights.
[[nodiscard]] at::Tensor windowed_forward(const std::shared_ptr<const AttentionPlan>& plan,
                                          const Operands& operands, float scale);
void windowed_backward(const std::shared_ptr<const AttentionPlan>& plan,
                       const GradientTensors& tensors, float scale, const at::Tensor& weights);

}  // namespace attnscope::on_cuda
