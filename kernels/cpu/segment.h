#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Fused segment attention on the CPU: the whole plan in one pass with an online softmax over all
// segments of a row; no array of size rows x keys is stored.
//
//   std::vector<std::byte> workspace(segment_workspace_bytes(plan, head_dim, threads));
//   Status done = segment_forward(plan, q, k, v, scale, o, lse, workspace);

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

/// Ok, or why the fused kernel cannot run this plan.
[[nodiscard]] Status segment_supports(const AttentionPlan& plan, std::int64_t head_dim);

/// Bytes of workspace: one row tile per thread, and partial results of rows split over chunks.
[[nodiscard]] std::int64_t segment_workspace_bytes(const AttentionPlan& plan, std::int64_t head_dim,
                                                   int threads);

/// o = softmax(scale * q k^T over the plan's pairs) v. Writes every row of o; rows without keys
/// become 0 with log-sum-exp -inf. `lse` [tokens, heads] may be empty. Uses at most `threads`
/// OpenMP threads; the result does not depend on their number. All tensors have one dtype, float32,
/// float16 or bfloat16; sums are float32 for all three.
[[nodiscard]] Status segment_forward(const AttentionPlan& plan, const ConstTensor& q,
                                     const ConstTensor& k, const ConstTensor& v, float scale,
                                     const Tensor& o, std::span<float> lse, int threads,
                                     std::span<std::byte> workspace);

/// Bytes of workspace for segment_backward: one strip of keys per thread, and partial gradients of
/// the keys that many rows share and of the rows whose keys are split over chunks.
[[nodiscard]] std::int64_t segment_backward_workspace_bytes(const AttentionPlan& plan,
                                                            std::int64_t head_dim, int threads);

/// The gradients of segment_forward (kernels/plan/tensor.h), five products in one pass over the
/// plan's pairs. Uses at most `threads` OpenMP threads; the result does not depend on their number.
[[nodiscard]] Status segment_backward(const AttentionPlan& plan, const GradientTensors& tensors,
                                      float scale, int threads, std::span<std::byte> workspace);

}  // namespace attnscope::cpu
