#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The float64 gradients that a backward pass is held against, from the oracle. The gradient that
// arrives is zero but in some rows, so that *every* value of all three gradients can be compared at
// the cost of those rows.
//
//   ReferenceGradients reference = compute_reference_gradients(problem, rows, q, k, v, grad_o);
//   GradientErrors errors = gradient_errors(reference, grad_q, grad_k, grad_v);
//   errors.largest() <= gradient_error_bound(dtype)

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/attention/reference.h"

namespace attnscope {

/// The gradients of one head. Rows that no listed row has part in are zero and take no memory.
struct HeadGradients {
  std::vector<std::int64_t> query_place, key_place;  // [tokens]: row of the matrices below, or -1
  std::vector<double> grad_q;                        // [places, head_dim]
  std::vector<double> grad_k, grad_v;                // [places, head_dim]
};

/// What an error of each gradient is relative to: its largest absolute value. The weights' gradient
/// is a difference, dS_ij = P_ij (grad_o_i . v_j - grad_o_i . o_i), and rounding is relative to the
/// larger of the two, however little is left of it (nothing, in a row of one key). So it is never
/// less than the largest term scale P_ij max(|grad_o_i . v_j|, |grad_o_i . o_i|) max|k_j| of
/// grad_q, likewise with q_i of grad_k. 1 where all is zero: errors are absolute then.
struct ReferenceGradients {
  std::int64_t tokens = 0;
  std::int64_t head_dim = 0;
  std::vector<HeadGradients> heads;
  double scale_of_grad_q = 1, scale_of_grad_k = 1, scale_of_grad_v = 1;
};

/// Inputs as in compute_reference. `grad_o` is read in `rows` alone and must be zero elsewhere.
[[nodiscard]] ReferenceGradients compute_reference_gradients(
    const Problem& problem, std::span<const RowId> rows, const ConstTensor& q, const ConstTensor& k,
    const ConstTensor& v, const ConstTensor& grad_o);

/// 8 u(dtype) + 2e-6. A gradient goes through twice the roundings of an output where each step is
/// kept in the dtype, as LibTorch's products do: scores, weights, o, the weights' gradient, the
/// scores' gradient and the sum. (Seen: LibTorch's matmul, softmax, matmul in bfloat16 at 2048
/// tokens errs by 4.8 u in grad_k. Sums in float32 stay within 2 u.)
[[nodiscard]] double gradient_error_bound(DType dtype);

/// Largest |gradient - reference| over its scale; +inf when a value is not finite.
struct GradientErrors {
  double q = 0, k = 0, v = 0;
  [[nodiscard]] double largest() const { return std::max({q, k, v}); }
  /// "grad_q", "grad_k" or "grad_v": the one with the largest error.
  [[nodiscard]] std::string_view worst() const;
};

[[nodiscard]] GradientErrors gradient_errors(const ReferenceGradients& reference,
                                             const Tensor& grad_q, const Tensor& grad_k,
                                             const Tensor& grad_v);

/// The error of grad_q in `rows` alone: these do not depend on grad_o in other rows, so they are
/// right in any call whose grad_o agrees there.
[[nodiscard]] double query_gradient_error(const ReferenceGradients& reference,
                                          std::span<const RowId> rows, const Tensor& grad_q);

}  // namespace attnscope
