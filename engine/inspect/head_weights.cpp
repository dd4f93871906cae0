// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/head_weights.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

/// Transposes [tokens, dim] to [dim, tokens].
std::vector<float> turned(std::span<const float> values, std::int64_t tokens, std::int64_t dim) {
  std::vector<float> turned(values.size());
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t d = 0; d < dim; ++d) {
      turned[static_cast<std::size_t>(d * tokens + token)] =
          values[static_cast<std::size_t>(token * dim + d)];
    }
  }
  return turned;
}

constexpr std::int64_t terms = 4;  // terms of each sum added per pass over the scores

/// scores[j] = q . k_j for the keys, with k as [head_dim, tokens].
void dot_products(const float* q, const float* k, std::int64_t head_dim, std::int64_t tokens,
                  TokenRange keys, double* scores) {
  std::fill(scores + keys.begin, scores + keys.end, 0.0);
  // In float64: a product of two float32 numbers is exact, so that large scores keep their digits.
  std::int64_t d = 0;
  for (; d + terms <= head_dim; d += terms) {
    const double a[terms] = {q[d], q[d + 1], q[d + 2], q[d + 3]};
    const float* row = k + d * tokens;
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      const float* at = row + j;
      scores[j] +=
          (a[0] * static_cast<double>(at[0]) + a[1] * static_cast<double>(at[tokens])) +
          (a[2] * static_cast<double>(at[2 * tokens]) + a[3] * static_cast<double>(at[3 * tokens]));
    }
  }
  for (; d < head_dim; ++d) {
    const float* row = k + d * tokens;
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      scores[j] += static_cast<double>(q[d]) * static_cast<double>(row[j]);
    }
  }
}

}  // namespace

void HeadVectors::set(std::span<const float> q, std::span<const float> k) {
  assert(static_cast<std::int64_t>(q.size()) == tokens_ * head_dim_ && q.size() == k.size());
  q_.assign(q.begin(), q.end());
  k_ = turned(k, tokens_, head_dim_);
}

void HeadVectors::set_global(std::span<const std::int64_t> rows, std::span<const float> q,
                             std::span<const float> k) {
  assert(static_cast<std::int64_t>(q.size()) == tokens_ * head_dim_ && q.size() == k.size());
  q_global_.assign(q.begin(), q.end());
  k_global_ = turned(k, tokens_, head_dim_);
  global_.assign(static_cast<std::size_t>(tokens_), false);
  for (const std::int64_t row : rows) global_[static_cast<std::size_t>(row)] = true;
}

const float* HeadVectors::query(std::int64_t row) const {
  return (is_global(row) ? q_global_ : q_).data() + row * head_dim_;
}

const float* HeadVectors::keys_for(std::int64_t row) const {
  return (is_global(row) ? k_global_ : k_).data();
}

HeadWeights::HeadWeights(std::shared_ptr<const HeadVectors> vectors,
                         std::shared_ptr<const Mask> mask, std::int32_t head, double scale)
    : vectors_(std::move(vectors)), mask_(std::move(mask)), head_(head), scale_(scale) {}

std::vector<TokenRange> HeadWeights::keys(std::int64_t query) const {
  return mask_->intervals(head_, query);
}

double HeadWeights::score(std::int64_t query, std::int64_t key) const {
  const float* q = vectors_->query(query);
  const float* k = vectors_->keys_for(query) + key;
  double dot = 0;
  for (std::int64_t d = 0; d < vectors_->head_dim(); ++d) {
    dot += static_cast<double>(q[d]) * static_cast<double>(k[d * vectors_->tokens()]);
  }
  return scale_ * dot;
}

void HeadWeights::row(std::int64_t query, RowWeights& row) const {
  const auto tokens = static_cast<std::size_t>(vectors_->tokens());
  row.weights.resize(tokens);
  row.scores.resize(tokens);
  row.keys = keys(query);
  double largest = -INFINITY;
  for (const TokenRange& keys : row.keys) {
    dot_products(vectors_->query(query), vectors_->keys_for(query), vectors_->head_dim(),
                 vectors_->tokens(), keys, row.scores.data());
    largest = std::max(
        largest, *std::max_element(row.scores.begin() + keys.begin, row.scores.begin() + keys.end));
  }
  double sum = 0;
  for (const TokenRange& keys : row.keys) {
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const auto below = static_cast<float>(scale_ * (row.scores[at] - largest));
      row.weights[at] = std::exp(below);
      sum += static_cast<double>(row.weights[at]);
    }
  }
  const auto share = static_cast<float>(1 / sum);
  for (const TokenRange& keys : row.keys) {
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      row.weights[static_cast<std::size_t>(j)] *= share;
    }
  }
}

MeanWeights::MeanWeights(std::vector<std::shared_ptr<const WeightRows>> heads)
    : heads_(std::move(heads)) {
  assert(!heads_.empty());
}

void MeanWeights::row(std::int64_t query, RowWeights& row) const {
  const auto share = 1 / static_cast<float>(heads_.size());
  std::vector<float> mean(static_cast<std::size_t>(tokens()), 0.0F);
  std::vector<TokenRange> any;
  for (const auto& head : heads_) {
    head->row(query, row);
    any.insert(any.end(), row.keys.begin(), row.keys.end());
    for (const TokenRange& keys : row.keys) {
      for (std::int64_t j = keys.begin; j < keys.end; ++j) {
        mean[static_cast<std::size_t>(j)] += share * row.weights[static_cast<std::size_t>(j)];
      }
    }
  }
  merge_intervals(any);
  row.keys = std::move(any);
  row.weights = std::move(mean);
}

std::vector<TokenRange> MeanWeights::keys(std::int64_t query) const {
  std::vector<TokenRange> any;
  for (const auto& head : heads_) {
    const std::vector<TokenRange> keys = head->keys(query);
    any.insert(any.end(), keys.begin(), keys.end());
  }
  merge_intervals(any);
  return any;
}

double MeanWeights::score(std::int64_t query, std::int64_t key) const {
  double sum = 0;
  for (const auto& head : heads_) sum += head->score(query, key);
  return sum / static_cast<double>(heads_.size());
}

WeightDifference::WeightDifference(std::shared_ptr<const WeightRows> a,
                                   std::shared_ptr<const WeightRows> b)
    : a_(std::move(a)), b_(std::move(b)) {}

void WeightDifference::row(std::int64_t query, RowWeights& row) const {
  RowWeights other;
  a_->row(query, other);
  b_->row(query, row);
  std::vector<float> difference(row.weights.size(), 0.0F);
  for (const TokenRange& keys : row.keys) {
    std::copy(row.weights.begin() + keys.begin, row.weights.begin() + keys.end,
              difference.begin() + keys.begin);
  }
  for (const TokenRange& keys : other.keys) {
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      difference[static_cast<std::size_t>(j)] -= other.weights[static_cast<std::size_t>(j)];
    }
  }
  row.keys.insert(row.keys.end(), other.keys.begin(), other.keys.end());
  merge_intervals(row.keys);
  row.weights = std::move(difference);
}

std::vector<TokenRange> WeightDifference::keys(std::int64_t query) const {
  std::vector<TokenRange> either = a_->keys(query);
  const std::vector<TokenRange> more = b_->keys(query);
  either.insert(either.end(), more.begin(), more.end());
  merge_intervals(either);
  return either;
}

}  // namespace attnscope
