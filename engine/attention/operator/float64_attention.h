#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The operator's attention in float64, row by row on one thread of the CPU: what gradcheck needs,
// which no kernel has, and what the kernels' float32 can be held against. Slow.
//
//   const Attended attended = float64_attention(plan, q, k, v, scale);

#include <ATen/core/Tensor.h>

#include "engine/attention/torch_function.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// As segment_attention_forward, with all in float64. Any strides. std::invalid_argument in one
/// sentence for what does not fit, and for another device.
[[nodiscard]] Attended float64_attention(const AttentionPlan& plan, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v, double scale);

/// As segment_attention_backward.
[[nodiscard]] InputGradients float64_gradients(const AttentionPlan& plan, const at::Tensor& grad_o,
                                               const at::Tensor& q, const at::Tensor& k,
                                               const at::Tensor& v, const Attended& attended,
                                               double scale);

}  // namespace attnscope
