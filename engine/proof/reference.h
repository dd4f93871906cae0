#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The float64 reference every implementation is held against before its time counts: rows of the
// output and, of direction forward-backward, all three gradients. It is computed from the oracle,
// pair by pair, and knows no plan.
//
//   auto rows = sample_rows(layout, heads, 256, seed);
//   ReferenceRows reference = compute_reference(problem, rows, q, k, v);
//   relative_error(reference, o) <= error_bound(dtype, reference.scores)
//
// The gradient that arrives is zero but in those rows, so that *every* value of all three gradients
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
/// with a random phase), at most `count`; all rows when there are no more than that.
[[nodiscard]] std::vector<RowId> sample_rows(const SequenceLayout& layout, std::int32_t heads,
                                             std::int64_t count, std::uint64_t seed);

/// How many are enough: 256 at ordinary lengths, fewer when rows x keys would take a second and
/// more.
[[nodiscard]] std::int64_t rows_to_compare(std::int64_t item_tokens);

/// What rounding scores does to outputs: exp() turns the absolute error of a score into the
/// relative error of its weight, and so errors grow with the scores. Each is the largest of a row's
/// mean over its keys by their weights: a key of no weight has no part in it.
struct ScoreRounding {
  double size = 0;     // |score|, which a dtype rounds where scores are kept in it
  double of_sums = 0;  // of a score's sum of products in float32: 2^-24 times the root of its
                       // partial sums' squares
};

struct ReferenceRows {
  std::vector<RowId> rows;
  std::int64_t head_dim = 0;
  std::vector<double> output;       // rows x head_dim
  std::vector<double> log_sum_exp;  // per row, -inf without keys; empty for windowed-matmul
  double scale_of_error = 1;        // max|V|, or max|O| for operation windowed-matmul
  // What is allowed beside error_bound: for operation windowed-matmul, whose terms have any sign,
  // sqrt(n) 2^-24 with n the most keys of a row, the size of the error of one float32 sum of n
  // terms. (Seen: cuBLAS at 4096 keys errs by 2.7e-6.)
  double rounding_of_sums = 0;
  ScoreRounding scores{};  // nothing for windowed-matmul, which has no exp()
};

/// Inputs in the problem's dtype and memory order; they are read as stored, so rounding to the
/// dtype has already happened. Operation windowed-matmul: o = (scale * Q K^T over allowed pairs) V.
[[nodiscard]] ReferenceRows compute_reference(const Problem& problem, std::span<const RowId> rows,
                                              const ConstTensor& q, const ConstTensor& k,
                                              const ConstTensor& v);

/// Largest |o - reference| over scale_of_error; +inf when any compared value is not finite.
[[nodiscard]] double relative_error(const ReferenceRows& reference, const Tensor& o);

/// Largest |lse - reference| / max(1, |reference|) with `lse` [tokens, heads]; +inf when one of
/// both is -inf (no keys) and the other is not, or anything is NaN. The bound is error_bound, too.
[[nodiscard]] double log_sum_exp_error(const ReferenceRows& reference, std::span<const float> lse,
                                       std::int64_t heads);

/// 4 u(dtype) + 2e-6, with u the unit round-off of the dtype; of large scores size / 2 in place of
/// 4, and of_sums in place of 2e-6: two and a half times the standard error of such sums, for a
/// rounding is off by 0.4 of its largest error. (Seen with head dimension 32: scores of 75, bound
/// 1.9e-5, NumPy, LibTorch's attention and its products err by 2.2e-6 to 2.6e-6, sums in another
/// order by 5.5e-6; of 175, bound 4.5e-5, by 2.6e-6 to 5.7e-6. LibTorch's products in bfloat16 err
/// by 0.07 in both.)
[[nodiscard]] double error_bound(DType dtype, const ScoreRounding& scores = {});

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
/// tokens errs by 4.8 u in grad_k. Sums in float32 stay within 2 u.) Of large scores twice what
/// error_bound() has.
[[nodiscard]] double gradient_error_bound(DType dtype, const ScoreRounding& scores = {});

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

/// What the calls of a problem are held against.
struct Reference {
  ReferenceRows rows;
  std::optional<ReferenceGradients> gradients;  // of direction forward-backward
};

/// Of several errors with bounds of their own the one that takes the largest share of its bound.
struct WorstError {
  double error = 0;
  double bound = 0;
  std::string_view tensor{};  // "output", "grad_q", ...
  void meet(double other, double its_bound, std::string_view its_tensor) {
    if (bound > 0 && other / its_bound <= error / bound) return;
    error = other;
    bound = its_bound;
    tensor = its_tensor;
  }
  [[nodiscard]] bool is_allowed() const { return error <= bound; }
};

}  // namespace attnscope
