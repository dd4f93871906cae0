#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The paper's windowed matrix products (Schlatt et al., ECIR 2024, Section 3.2) on the CPU, and the
// three-step attention built from them: scores per segment, one joint softmax, values per segment.
// Nothing is allocated inside: callers query the size and pass the memory. All tensors of a call
// have one dtype, float32, float16 or bfloat16; bands and scores are sums, always in float32.
//
//   BandProblem problem{sequences, /*heads=*/12, /*head_dim=*/32, /*window=*/4};
//   std::vector<float> band(band_elements(problem));
//   windowed_qk(problem, q, k, scale, band);   // band[i][j] = scale * q_i . k_(i+j-w), 0 outside
//   windowed_pv(problem, band, v, o);          // o_i = sum_j band[i][j] * v_(i+j-w)
//
// If a sequence has fewer than 2w+1 tokens, its rows have one column per token, and column j is
// token j of the sequence: `c` below is 2w+1 or the number of tokens, and j counts keys in both
// cases.

#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::cpu {

using attnscope::band_elements;
using attnscope::BandProblem;
using attnscope::windowed_score_elements;

/// Q [s,d] x K^T [d,s] -> band [s, c]; entries outside the window are 0.
[[nodiscard]] Status windowed_qk(const BandProblem& problem, const ConstTensor& q,
                                 const ConstTensor& k, float scale, int threads,
                                 std::span<float> band);

/// band [s, c] x V [s,d] -> O [s,d]; every row of the sequences is written.
[[nodiscard]] Status windowed_pv(const BandProblem& problem, std::span<const float> band,
                                 const ConstTensor& v, int threads, const Tensor& o);

/// Gradients of windowed_qk: grad_q_i = scale * sum_j grad_band_ij k_j and grad_k_j = scale *
/// sum_i grad_band_ij q_i, over the pairs of the window; other entries of grad_band are not read.
/// Every row of the sequences is written.
[[nodiscard]] Status windowed_qk_backward(const BandProblem& problem,
                                          std::span<const float> grad_band, const ConstTensor& q,
                                          const ConstTensor& k, float scale, int threads,
                                          const Tensor& grad_q, const Tensor& grad_k);

/// Gradients of windowed_pv: grad_band_ij = grad_o_i . v_j, 0 outside the window, and grad_v_j =
/// sum_i band_ij grad_o_i.
[[nodiscard]] Status windowed_pv_backward(const BandProblem& problem, std::span<const float> band,
                                          const ConstTensor& v, const ConstTensor& grad_o,
                                          int threads, std::span<float> grad_band,
                                          const Tensor& grad_v);

/// Ok, or why the three-step attention cannot run this plan.
[[nodiscard]] Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim);

/// scores -> joint softmax -> values, as three passes over the whole batch (deliberately unfused).
/// Writes every row of o; rows without keys become 0. `lse` [tokens, heads] may be empty. The
/// workspace is windowed_score_elements floats.
[[nodiscard]] Status windowed_forward(const AttentionPlan& plan, const ConstTensor& q,
                                      const ConstTensor& k, const ConstTensor& v, float scale,
                                      const Tensor& o, std::span<float> lse, int threads,
                                      std::span<float> workspace);

/// Floats of workspace for windowed_backward in addition to the weights: as many scores again, a
/// list of the tasks with keys in each chunk, and sums of keys to which far more rows attend than
/// to others.
[[nodiscard]] std::int64_t windowed_backward_elements(const AttentionPlan& plan,
                                                      std::int64_t head_dim);

/// The gradients of windowed_forward (kernels/plan/tensor.h) in separate passes: gradients of
/// the weights, of the scores, and the three products. `weights` is the workspace as written by
/// windowed_forward; tensors.o and tensors.lse are not read. The result does not depend on the
/// number of threads.
[[nodiscard]] Status windowed_backward(const AttentionPlan& plan, const GradientTensors& tensors,
                                       float scale, std::span<const float> weights, int threads,
                                       std::span<float> workspace);

}  // namespace attnscope::cpu
