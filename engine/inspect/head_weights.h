#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The attention weights of one head, row by row: the softmax of its scores over the keys that a
// pattern allows. The tokens x tokens matrix is never stored.
//
//   HeadWeights weights(vectors, mask, /*head=*/3, /*scale=*/0.125);
//   RowWeights row;
//   weights.row(17, row);   // row.weights[j] for the keys j in row.keys; they add up to 1

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/pattern/mask.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// The queries and keys of one head. Keys are stored with the token as the fastest index, so that
/// the scores of one row are computed for adjacent keys at once.
class HeadVectors {
 public:
  HeadVectors(std::int64_t tokens, std::int64_t head_dim) : tokens_(tokens), head_dim_(head_dim) {}

  /// `q` and `k`: [tokens, head_dim].
  void set(std::span<const float> q, std::span<const float> k);
  /// Rows whose scores use separate projections, both [tokens, head_dim].
  void set_global(std::span<const std::int64_t> rows, std::span<const float> q,
                  std::span<const float> k);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t head_dim() const { return head_dim_; }
  /// [head_dim]
  [[nodiscard]] const float* query(std::int64_t row) const;
  /// [head_dim, tokens]: the keys for this row's query.
  [[nodiscard]] const float* keys_for(std::int64_t row) const;

 private:
  [[nodiscard]] bool is_global(std::int64_t row) const {
    return !global_.empty() && global_[static_cast<std::size_t>(row)];
  }

  std::int64_t tokens_;
  std::int64_t head_dim_;
  std::vector<float> q_, k_;
  std::vector<float> q_global_, k_global_;
  std::vector<bool> global_;  // by row; empty: none
};

/// Called before every row: returns true if the result is no longer needed. An empty function never
/// stops.
using Stopped = std::function<bool()>;

/// The buffers of a row, reused between calls.
struct RowWeights {
  std::vector<TokenRange> keys;  // ascending, disjoint
  std::vector<float> weights;    // by token; valid only within `keys`
  std::vector<double> scores{};  // working memory
};

/// Weights for pairs of tokens: a head, or the difference of two heads.
class WeightRows {
 public:
  WeightRows() = default;
  WeightRows(const WeightRows&) = delete;
  WeightRows& operator=(const WeightRows&) = delete;
  virtual ~WeightRows() = default;
  [[nodiscard]] virtual std::int64_t tokens() const = 0;
  virtual void row(std::int64_t query, RowWeights& row) const = 0;
  /// The keys that the pattern allows this row.
  [[nodiscard]] virtual std::vector<TokenRange> keys(std::int64_t query) const = 0;
  /// The input of the softmax for this pair, whether or not the pair is allowed.
  [[nodiscard]] virtual double score(std::int64_t query, std::int64_t key) const = 0;
};

class HeadWeights : public WeightRows {
 public:
  HeadWeights(std::shared_ptr<const HeadVectors> vectors, std::shared_ptr<const Mask> mask,
              std::int32_t head, double scale);

  [[nodiscard]] std::int64_t tokens() const override { return vectors_->tokens(); }
  void row(std::int64_t query, RowWeights& row) const override;
  [[nodiscard]] std::vector<TokenRange> keys(std::int64_t query) const override;
  [[nodiscard]] double score(std::int64_t query, std::int64_t key) const override;

 private:
  std::shared_ptr<const HeadVectors> vectors_;
  std::shared_ptr<const Mask> mask_;
  std::int32_t head_;
  double scale_;
};

/// The mean over heads, on the union of their keys; a key has weight 0 in a head that does not
/// allow it.
class MeanWeights : public WeightRows {
 public:
  /// Precondition: at least one head, all with the same tokens.
  explicit MeanWeights(std::vector<std::shared_ptr<const WeightRows>> heads);

  [[nodiscard]] std::int64_t tokens() const override { return heads_.front()->tokens(); }
  void row(std::int64_t query, RowWeights& row) const override;
  [[nodiscard]] std::vector<TokenRange> keys(std::int64_t query) const override;
  [[nodiscard]] double score(std::int64_t query, std::int64_t key) const override;

 private:
  std::vector<std::shared_ptr<const WeightRows>> heads_;
};

/// `b` minus `a`, on the union of their keys; a key has weight 0 where it is not allowed. Both use
/// the same scores.
class WeightDifference : public WeightRows {
 public:
  WeightDifference(std::shared_ptr<const WeightRows> a, std::shared_ptr<const WeightRows> b);

  [[nodiscard]] std::int64_t tokens() const override { return a_->tokens(); }
  void row(std::int64_t query, RowWeights& row) const override;
  [[nodiscard]] std::vector<TokenRange> keys(std::int64_t query) const override;
  [[nodiscard]] double score(std::int64_t query, std::int64_t key) const override {
    return a_->score(query, key);
  }

 private:
  std::shared_ptr<const WeightRows> a_, b_;
};

}  // namespace attnscope
