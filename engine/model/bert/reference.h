#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plain float64 implementation of BERT's body with the oracle's mask: the reference for every
// family built on BERT. Uses LibTorch.
//
//   const ReferenceEncoder encoder(weights, variant, packed.layout);
//   at::Tensor x = encoder.run(encoder.embed(packed), 0, weights.shape().layers);

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/oracle.h"

namespace attnscope {

/// Attention in float64 under the oracle's mask, by head and by block of rows: the scores of a
/// whole long item do not fit in memory.
class MaskedAttention {
 public:
  /// The pattern and the layout must outlive it.
  MaskedAttention(const AttentionPattern& pattern, std::optional<Window> window,
                  const SequenceLayout& layout, const ModelShape& shape);
  /// q, k, v and the result are [tokens, hidden].
  [[nodiscard]] at::Tensor of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  [[nodiscard]] const Oracle& oracle() const { return oracle_; }

 private:
  [[nodiscard]] at::Tensor mask(std::int64_t head) const;

  const SequenceLayout& layout_;
  ModelShape shape_;
  Oracle oracle_;
  bool differs_by_head_;           // blocks are drawn per head; other masks are equal
  std::vector<at::Tensor> masks_;  // one, or one a head
};

class ReferenceEncoder : public WideWeights {
 public:
  /// The arguments must outlive the object. Uses of the variant: pattern, window, dtype, and
  /// whether global tokens have separate projections.
  ReferenceEncoder(const ModelWeights& weights, const ModelVariant& variant,
                   const SequenceLayout& layout);

  /// [tokens, hidden]; ids from the vocabulary's size on are rows of the tensor `learned`.
  [[nodiscard]] at::Tensor embed(const PackedBatch& batch, const std::string& learned = {}) const;
  /// Runs x [tokens, hidden] through the layers in [first, end).
  [[nodiscard]] at::Tensor run(at::Tensor x, std::int64_t first, std::int64_t end) const;

 private:
  [[nodiscard]] at::Tensor encode(const std::string& layer, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor attend(const std::string& layer, const std::string& own,
                                  const at::Tensor& x) const;
  void find_global_rows();

  const ModelVariant& variant_;
  const SequenceLayout& layout_;
  MaskedAttention attention_;
  std::vector<std::int64_t> global_rows_;
};

/// The last layer's states, [tokens, hidden].
[[nodiscard]] at::Tensor bert_reference_states(const ModelWeights& weights,
                                               const ModelVariant& variant,
                                               const PackedBatch& packed);

/// The whole cross-encoder, for one item.
[[nodiscard]] Result<ReferenceOutput> bert_reference(const ModelWeights& weights,
                                                     const ModelVariant& variant,
                                                     const PairBatch::Item& item, std::int32_t cls);

}  // namespace attnscope
