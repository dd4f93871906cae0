#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The float64 reference with which every implementation is compared before its time counts: rows of
// the output and, for direction forward-backward, all three gradients. It is computed from the
// oracle, pair by pair, and uses no plan.
//
//   auto rows = sample_rows(layout, heads, 256, seed);
//   ReferenceRows reference = compute_reference(problem, rows, q, k, v);
//   relative_error(reference, o) <= error_bound(dtype, reference.scores)
//
// The incoming gradient is zero except in those rows, so that *every* value of all three gradients
// can be compared at the cost of some rows.
//
//   ReferenceGradients gradients = compute_reference_gradients(problem, rows, q, k, v, grad_o);
//   gradient_errors(gradients, grad_q, grad_k, grad_v).largest() <=
//       gradient_error_bound(dtype, reference.scores)

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

struct RowId {
  std::int64_t token = 0;
  std::int32_t head = 0;
  friend bool operator==(const RowId&, const RowId&) = default;
};

/// Rows spread over all items, groups, group borders and kernel tiles (first, last, and a stride
/// with a random phase), at most `count`; all rows if there are no more than `count`.
[[nodiscard]] std::vector<RowId> sample_rows(const SequenceLayout& layout, std::int32_t heads,
                                             std::int64_t count, std::uint64_t seed);

/// The number of rows to compare: 256 at ordinary lengths, fewer if rows x keys would take a second
/// or more.
[[nodiscard]] std::int64_t rows_to_compare(std::int64_t item_tokens);

/// The effect of rounded scores on outputs: exp() turns the absolute error of a score into the
/// relative error of its weight, so errors grow with the scores. Each member is the largest over
/// the rows of the mean over the row's keys, weighted by the attention weights: a key of weight
/// zero does not contribute.
struct ScoreRounding {
  double size = 0;     // |score|, which is rounded if scores are stored in the dtype
  double of_sums = 0;  // error of a score's sum of products in float32: 2^-24 times the root of the
                       // sum of its squared partial sums
};

struct ReferenceRows {
  std::vector<RowId> rows;
  std::int64_t head_dim = 0;
  std::vector<double> output;       // rows x head_dim
  std::vector<double> log_sum_exp;  // per row, -inf without keys; empty for windowed-matmul
  double scale_of_error = 1;        // max|V|, or max|O| for operation windowed-matmul
  // Tolerance in addition to error_bound: for operation windowed-matmul, whose terms have any sign,
  // sqrt(n) 2^-24 with n the most keys of a row, which is the size of the error of one float32 sum
  // of n terms. (Measured: cuBLAS at 4096 keys has an error of 2.7e-6.)
  double rounding_of_sums = 0;
  ScoreRounding scores{};  // zero for windowed-matmul, which has no exp()
};

/// Inputs have the problem's dtype and memory order; they are read as stored, so rounding to the
/// dtype has already happened. Operation windowed-matmul: o = (scale * Q K^T over allowed pairs) V.
[[nodiscard]] ReferenceRows compute_reference(const Problem& problem, std::span<const RowId> rows,
                                              const ConstTensor& q, const ConstTensor& k,
                                              const ConstTensor& v);

/// Largest |o - reference| over scale_of_error; +inf when any compared value is not finite.
[[nodiscard]] double relative_error(const ReferenceRows& reference, const Tensor& o);

/// Largest |lse - reference| / max(1, |reference|) with `lse` [tokens, heads]; +inf if one of the
/// two is -inf (no keys) and the other is not, or if any value is NaN. Its bound is also
/// error_bound.
[[nodiscard]] double log_sum_exp_error(const ReferenceRows& reference, std::span<const float> lse,
                                       std::int64_t heads);

/// 4 u(dtype) + 2e-6, with u the unit round-off of the dtype. For large scores, size / 2 replaces
/// 4, and of_sums replaces 2e-6: two and a half times the standard error of such sums, since a
/// rounding is off by 0.4 of its largest error. (Measured with head dimension 32: at scores of 75,
/// bound 1.9e-5, the errors of NumPy, LibTorch's attention and its products are 2.2e-6 to 2.6e-6,
/// those of sums in another order 5.5e-6; at scores of 175, bound 4.5e-5, they are 2.6e-6 to
/// 5.7e-6. The error of LibTorch's products in bfloat16 is 0.07 in both cases.)
[[nodiscard]] double error_bound(DType dtype, const ScoreRounding& scores = {});

/// The gradients of one head. Rows to which no listed row contributes are zero and take no memory.
struct HeadGradients {
  std::vector<std::int64_t> query_place, key_place;  // [tokens]: row of the matrices below, or -1
  std::vector<double> grad_q;                        // [places, head_dim]
  std::vector<double> grad_k, grad_v;                // [places, head_dim]
};

/// The scale of the errors of each gradient: its largest absolute value. The weights' gradient is a
/// difference, dS_ij = P_ij (grad_o_i . v_j - grad_o_i . o_i), and rounding is relative to the
/// larger of the two terms, however small the difference is (zero, in a row of one key). The scale
/// is therefore at least the largest term scale P_ij max(|grad_o_i . v_j|, |grad_o_i . o_i|)
/// max|k_j| of grad_q, and likewise with q_i for grad_k. It is 1 if all values are zero: errors are
/// then absolute.
struct ReferenceGradients {
  std::int64_t tokens = 0;
  std::int64_t head_dim = 0;
  std::vector<HeadGradients> heads;
  double scale_of_grad_q = 1, scale_of_grad_k = 1, scale_of_grad_v = 1;
};

/// Inputs as in compute_reference. `grad_o` is read only in `rows` and must be zero elsewhere.
[[nodiscard]] ReferenceGradients compute_reference_gradients(
    const Problem& problem, std::span<const RowId> rows, const ConstTensor& q, const ConstTensor& k,
    const ConstTensor& v, const ConstTensor& grad_o);

/// 8 u(dtype) + 2e-6. A gradient goes through twice as many roundings as an output if each step is
/// stored in the dtype, as in LibTorch's products: scores, weights, o, the weights' gradient, the
/// scores' gradient and the sum. (Measured: LibTorch's matmul, softmax, matmul in bfloat16 at 2048
/// tokens has an error of 4.8 u in grad_k. Sums in float32 stay within 2 u.) For large scores it is
/// twice error_bound().
[[nodiscard]] double gradient_error_bound(DType dtype, const ScoreRounding& scores = {});

/// Largest |gradient - reference| over its scale; +inf if a value is not finite.
struct GradientErrors {
  double q = 0, k = 0, v = 0;
  [[nodiscard]] double largest() const { return std::max({q, k, v}); }
  /// "grad_q", "grad_k" or "grad_v": the one with the largest error.
  [[nodiscard]] std::string_view worst() const;
};

[[nodiscard]] GradientErrors gradient_errors(const ReferenceGradients& reference,
                                             const Tensor& grad_q, const Tensor& grad_k,
                                             const Tensor& grad_v);

/// The reference values for the calls of a problem.
struct Reference {
  ReferenceRows rows;
  std::optional<ReferenceGradients> gradients;  // for direction forward-backward
};

/// Among errors with different bounds, the one with the largest share of its bound.
struct WorstError {
  double error = 0;
  double bound = 0;
  std::string_view tensor{};  // "output", "grad_q", ...
  void update(double other, double its_bound, std::string_view its_tensor) {
    if (bound > 0 && other / its_bound <= error / bound) return;
    error = other;
    bound = its_bound;
    tensor = its_tensor;
  }
  [[nodiscard]] bool is_allowed() const { return error <= bound; }
};

}  // namespace attnscope
