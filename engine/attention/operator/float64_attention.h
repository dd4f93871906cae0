#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The operator's attention in float64, row by row on one CPU thread. It serves gradcheck, which no
// kernel supports, and as a reference for the kernels' float32. Slow.
//
//   const Attended attended = float64_attention(plan, q, k, v, scale);

#include <ATen/core/Tensor.h>

#include "engine/attention/torch_function.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Like segment_attention_forward, but all in float64. Any strides. Throws std::invalid_argument
/// with one sentence for invalid arguments or another device.
[[nodiscard]] Attended float64_attention(const AttentionPlan& plan, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v, double scale);

/// Like segment_attention_backward.
[[nodiscard]] InputGradients float64_gradients(const AttentionPlan& plan, const at::Tensor& grad_o,
                                               const at::Tensor& q, const at::Tensor& k,
                                               const at::Tensor& v, const Attended& attended,
                                               double scale);

}  // namespace attnscope
