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
#include <vector>

#include "engine/inspect/head_vectors.h"
#include "engine/pattern/mask.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Asked before every row: nobody waits for the result any more. An empty one never says so.
using Stopped = std::function<bool()>;

/// A row as it is handed from call to call, so that its memory is taken once.
struct RowWeights {
  std::vector<TokenRange> keys;  // ascending, disjoint
  std::vector<float> weights;    // by token; meaningful within `keys`
  std::vector<double> scores{};  // working memory
};

/// Something that has a weight for pairs of tokens: a head, or the difference of two.
class WeightRows {
 public:
  WeightRows() = default;
  WeightRows(const WeightRows&) = delete;
  WeightRows& operator=(const WeightRows&) = delete;
  virtual ~WeightRows() = default;
  [[nodiscard]] virtual std::int64_t tokens() const = 0;
  virtual void row(std::int64_t query, RowWeights& row) const = 0;
};

class HeadWeights : public WeightRows {
 public:
  HeadWeights(std::shared_ptr<const HeadVectors> vectors, std::shared_ptr<const Mask> mask,
              std::int32_t head, double scale);

  [[nodiscard]] std::int64_t tokens() const override { return vectors_->tokens(); }
  void row(std::int64_t query, RowWeights& row) const override;
  /// The keys that the pattern allows this row.
  [[nodiscard]] std::vector<TokenRange> keys(std::int64_t query) const;

 private:
  std::shared_ptr<const HeadVectors> vectors_;
  std::shared_ptr<const Mask> mask_;
  std::int32_t head_;
  double scale_;
};

/// `b` minus `a`, over the keys of either; a key that one does not allow has weight 0 there.
class WeightDifference : public WeightRows {
 public:
  WeightDifference(std::shared_ptr<const WeightRows> a, std::shared_ptr<const WeightRows> b);

  [[nodiscard]] std::int64_t tokens() const override { return a_->tokens(); }
  void row(std::int64_t query, RowWeights& row) const override;

 private:
  std::shared_ptr<const WeightRows> a_, b_;
};

}  // namespace attnscope
