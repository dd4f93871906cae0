#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The paper's windowed matrix products (Schlatt et al., ECIR 2024, Section 3.2) on CUDA and the
// three-step attention built from them: the counterpart of kernels/cpu/windowed.h, with the same
// layout of bands and scores. Nothing here allocates device memory or synchronises; the current
// device is used, and all work is queued on the caller's stream.
//
//   Result<WindowedWork> work = band_work({sequences, /*heads=*/12, /*head_dim=*/32, /*window=*/4},
//                                         DType::bfloat16, Passes::forward);
//   copy work->list() to device memory `list`, once; then any number of calls
//   windowed_qk(*work, list, q, k, scale, band, stream);
//   windowed_pv(*work, list, band, v, o, stream);
//
// Tensors, bands, scores and log-sum-exp are in device memory; head dimension 8 to 256; float32,
// float16 or bfloat16, the same for all tensors of a call; bands, scores and sums are float32 for
// all three. Results do not depend on the order of blocks: no floating-point atomics.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::cuda {

/// Ok, or why the three-step attention cannot run this plan.
[[nodiscard]] Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim);

namespace windowed {
struct Lists;
}

/// A band problem or a plan divided into thread blocks, as bytes for the device.
struct WindowedWork {
  /// The bytes to copy to device memory, aligned to 256 bytes: the `list` of all calls.
  [[nodiscard]] std::span<const std::byte> list() const;
  /// Number of floats of the band, or of the scores.
  [[nodiscard]] std::int64_t score_elements() const;

  std::shared_ptr<const windowed::Lists> lists;
};

/// Made on the host, once per problem: O(tokens / 16 + segments). Passes::forward_backward supports
/// the gradients, too.
[[nodiscard]] Result<WindowedWork> band_work(const BandProblem& problem, DType dtype,
                                             Passes passes);
[[nodiscard]] Result<WindowedWork> windowed_work(const AttentionPlan& plan, std::int64_t head_dim,
                                                 DType dtype, Passes passes);

/// Q [s,d] x K^T [d,s] -> band [s, c]; entries outside the window are 0. `work` from band_work. c
/// is 2w+1, or the number of tokens of a shorter sequence (kernels/cpu/windowed.h).
[[nodiscard]] Status windowed_qk(const WindowedWork& work, const std::byte* list,
                                 const ConstTensor& q, const ConstTensor& k, float scale,
                                 float* band, Stream stream);

/// band [s, c] x V [s,d] -> O [s,d]; every row of the sequences is written.
[[nodiscard]] Status windowed_pv(const WindowedWork& work, const std::byte* list, const float* band,
                                 const ConstTensor& v, const Tensor& o, Stream stream);

/// Gradients of windowed_qk: grad_q_i = scale * sum_j grad_band_ij k_j and grad_k_j = scale *
/// sum_i grad_band_ij q_i, over the pairs of the window; other entries of grad_band are not read.
/// Every row of the sequences is written.
[[nodiscard]] Status windowed_qk_backward(const WindowedWork& work, const std::byte* list,
                                          const float* grad_band, const ConstTensor& q,
                                          const ConstTensor& k, float scale, const Tensor& grad_q,
                                          const Tensor& grad_k, Stream stream);

/// Gradients of windowed_pv: grad_band_ij = grad_o_i . v_j, 0 outside the window, and grad_v_j =
/// sum_i band_ij grad_o_i.
[[nodiscard]] Status windowed_pv_backward(const WindowedWork& work, const std::byte* list,
                                          const float* band, const ConstTensor& v,
                                          const ConstTensor& grad_o, float* grad_band,
                                          const Tensor& grad_v, Stream stream);

/// scores -> joint softmax -> values, deliberately unfused. Writes every row of o; rows without
/// keys become 0. `lse` [tokens, heads] may be nullptr. `scores`, score_elements() floats, are
/// the weights afterwards, 0 outside the pattern. `work` from windowed_work.
[[nodiscard]] Status windowed_forward(const WindowedWork& work, const std::byte* list,
                                      const ConstTensor& q, const ConstTensor& k,
                                      const ConstTensor& v, float scale, const Tensor& o,
                                      float* lse, float* scores, Stream stream);

/// The gradients of windowed_forward (kernels/plan/tensor.h) in separate passes: of the weights,
/// of the scores, and the three products. `weights` are the scores as written by windowed_forward;
/// tensors.o and tensors.lse are not read. `grad_scores`: score_elements() floats.
[[nodiscard]] Status windowed_backward(const WindowedWork& work, const std::byte* list,
                                       const GradientTensors& tensors, float scale,
                                       const float* weights, float* grad_scores, Stream stream);

}  // namespace attnscope::cuda
