#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The float64 reference every implementation is held against before its time counts. It is computed
// from the oracle, pair by pair, and knows no plan. No LibTorch here.
//
//   auto rows = sample_rows(layout, heads, 256, seed);
//   ReferenceRows reference = compute_reference(problem, rows, q, k, v);
//   double error = relative_error(reference, o);     // compare with error_bound(dtype)

#include <cstdint>
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

struct ReferenceRows {
  std::vector<RowId> rows;
  std::int64_t head_dim = 0;
  std::vector<double> output;       // rows x head_dim
  std::vector<double> log_sum_exp;  // per row, -inf without keys; empty for windowed-matmul
  double scale_of_error = 1;        // max|V|, or max|O| for operation windowed-matmul
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

/// 4 u(dtype) + 2e-6, with u the unit round-off of the dtype.
[[nodiscard]] double error_bound(DType dtype);

/// Of several errors with bounds of their own the one that takes the largest share of its bound.
struct WorstError {
  double error = 0;
  double bound = 0;
  std::string_view tensor;  // "output", "grad_q", ...
  void meet(double other, double its_bound, std::string_view its_tensor) {
    if (bound > 0 && other / its_bound <= error / bound) return;
    error = other;
    bound = its_bound;
    tensor = its_tensor;
  }
  [[nodiscard]] bool is_allowed() const { return error <= bound; }
};

}  // namespace attnscope
