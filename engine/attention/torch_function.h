#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Our kernels as functions of LibTorch tensors that support autograd, so that a model can train
// with them. Includes LibTorch.
//
//   auto plan = std::make_shared<const AttentionPlan>(*compile_plan(pattern, window, layout,
//   heads)); at::Tensor o = segment_attention(plan, q, k, v, 1 / std::sqrt(32.0F));
//   loss_of(o).backward();   // q.grad(), k.grad(), v.grad()

#include <ATen/core/Tensor.h>

#include <memory>

#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// softmax(scale q k^T over the plan's pairs) v, fused (kernels/cpu/segment.h,
/// kernels/cuda/segment.h). q, k, v are [tokens, heads, head_dim] on the CPU or on one CUDA device,
/// where all work is queued on LibTorch's current stream. They share one dtype, float32, float16 or
/// bfloat16, and have any strides whose last is 1; so views of one projection and transposed
/// head-major tensors are accepted without a copy. The result is contiguous. Uses LibTorch's number
/// of threads. Throws std::invalid_argument with one sentence for invalid arguments and for a
/// second derivative, which is not supported. Any number of host threads may call it, also with one
/// plan. On CUDA the first call of a plan on a stream copies its work list there: it cannot be
/// captured into a graph, later ones can (docs/cuda.md).
[[nodiscard]] at::Tensor segment_attention(const std::shared_ptr<const AttentionPlan>& plan,
                                           const at::Tensor& q, const at::Tensor& k,
                                           const at::Tensor& v, float scale);

/// The same in the paper's three steps (kernels/cpu/windowed.h, kernels/cuda/windowed.h), which
/// keep the weights for the backward pass.
[[nodiscard]] at::Tensor windowed_attention(const std::shared_ptr<const AttentionPlan>& plan,
                                            const at::Tensor& q, const at::Tensor& k,
                                            const at::Tensor& v, float scale);

/// segment_attention in two calls that keep no graph, for callers with their own graph. The
/// backward pass needs o and the log-sum-exps [tokens, heads], which are float32 and -inf for a row
/// without keys.
struct Attended {
  at::Tensor o, lse;
};
[[nodiscard]] Attended segment_attention_forward(const std::shared_ptr<const AttentionPlan>& plan,
                                                 const at::Tensor& q, const at::Tensor& k,
                                                 const at::Tensor& v, float scale);

/// The gradients are contiguous. `grad_o` may have any strides; it is copied if its last is not 1.
struct InputGradients {
  at::Tensor q, k, v;
};
[[nodiscard]] InputGradients segment_attention_backward(
    const std::shared_ptr<const AttentionPlan>& plan, const at::Tensor& grad_o, const at::Tensor& q,
    const at::Tensor& k, const at::Tensor& v, const Attended& attended, float scale);

}  // namespace attnscope
