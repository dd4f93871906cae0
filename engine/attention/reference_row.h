#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One row of attention in float64, from the oracle: what outputs and gradients are both made of.
//
//   RowReference row(problem, oracle, q, k, v);
//   row.compute({.token = 7, .head = 0});
//   row.keys();   row.weights();   row.output();   row.log_sum_exp();

#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/reference.h"
#include "engine/pattern/oracle.h"

namespace attnscope {

/// The values of (token, head) as float64.
void widen(const ConstTensor& tensor, std::int64_t token, std::int64_t head,
           std::span<double> values);

class RowReference {
 public:
  /// All arguments must outlive the object.
  RowReference(const Problem& problem, const Oracle& oracle, const ConstTensor& q,
               const ConstTensor& k, const ConstTensor& v);

  void compute(RowId row);

  /// Of the row computed last: its keys, ascending, and each one's weight (softmax, or the scaled
  /// score for operation windowed-matmul).
  [[nodiscard]] std::span<const std::int64_t> keys() const { return keys_; }
  [[nodiscard]] std::span<const double> weights() const { return weights_; }
  [[nodiscard]] std::span<const double> query() const { return query_; }
  [[nodiscard]] std::span<const double> output() const { return output_; }
  /// -inf without keys; meaningless for windowed-matmul.
  [[nodiscard]] double log_sum_exp() const { return log_sum_exp_; }

 private:
  void find_keys(RowId row);
  void score(RowId row);
  void normalise();

  const Problem& problem_;
  const Oracle& oracle_;
  const ConstTensor &q_, &k_, &v_;
  std::vector<std::int64_t> keys_;
  std::vector<double> query_, other_, output_, weights_;
  double log_sum_exp_ = 0;
};

}  // namespace attnscope
