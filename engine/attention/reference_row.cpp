// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/reference_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/number_formats.h"

namespace attnscope {
namespace {

/// First token the query might see and one past the last: its item, or everything for a token of
/// the shared query. The shared query, which stands before all items, is tried besides.
TokenRange candidate_keys(const Oracle& oracle, const SequenceLayout& layout, std::int64_t query) {
  const Oracle::Place place = oracle.place_of(query);
  if (place.item < 0) return {0, layout.tokens()};
  return layout.item_tokens(place.item);
}

}  // namespace

void widen(const ConstTensor& tensor, std::int64_t token, std::int64_t head,
           std::span<double> values) {
  const std::int64_t row = tensor.offset(token, head);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = read_value(tensor.data, tensor.dtype, row + static_cast<std::int64_t>(i));
  }
}

RowReference::RowReference(const Problem& problem, const Oracle& oracle, const ConstTensor& q,
                           const ConstTensor& k, const ConstTensor& v)
    : problem_(problem),
      oracle_(oracle),
      q_(q),
      k_(k),
      v_(v),
      query_(static_cast<std::size_t>(problem.head_dim)),
      other_(query_.size()),
      output_(query_.size()) {}

void RowReference::compute(RowId row) {
  find_keys(row);
  score(row);
  if (problem_.operation != Operation::windowed_matmul) normalise();
  std::ranges::fill(output_, 0.0);
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    widen(v_, keys_[j], row.head, other_);
    for (std::size_t i = 0; i < output_.size(); ++i) output_[i] += weights_[j] * other_[i];
  }
}

void RowReference::find_keys(RowId row) {
  const TokenRange own = candidate_keys(oracle_, problem_.layout, row.token);
  keys_.clear();
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t key = begin; key < end; ++key) {
      if (oracle_.allowed(row.head, row.token, key)) keys_.push_back(key);
    }
  };
  add(0, std::min(problem_.layout.shared_query(), own.begin));
  add(own.begin, own.end);
}

void RowReference::score(RowId row) {
  widen(q_, row.token, row.head, query_);
  weights_.resize(keys_.size());
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    widen(k_, keys_[j], row.head, other_);
    double sum = 0;
    for (std::size_t i = 0; i < query_.size(); ++i) sum += query_[i] * other_[i];
    weights_[j] = static_cast<double>(problem_.scale) * sum;
  }
}

void RowReference::normalise() {
  log_sum_exp_ = -std::numeric_limits<double>::infinity();
  if (keys_.empty()) return;
  const double largest = *std::ranges::max_element(weights_);
  double sum = 0;
  for (double& weight : weights_) sum += weight = std::exp(weight - largest);
  for (double& weight : weights_) weight /= sum;
  log_sum_exp_ = largest + std::log(sum);
}

}  // namespace attnscope
