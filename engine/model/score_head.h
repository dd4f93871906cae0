#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Computes scores from an encoder's last states: a HeadConfig with its weights. Uses LibTorch.
//
//   const ScoreHead head(*weights, computing);
//   at::Tensor scores = head(head.pool(states, layout));

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/checkpoint/head_config.h"
#include "engine/model/family.h"
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope {

/// The head of a model: its config's, or the parts of BERT's head that the weights contain.
[[nodiscard]] HeadConfig head_of(const ModelWeights& weights);

/// Pools states [tokens, hidden] of packed items to [items, modes x hidden].
[[nodiscard]] at::Tensor pool(const HeadConfig& head, const at::Tensor& states,
                              const SequenceLayout& layout);

/// The layers of a head in sequence.
class HeadLayers {
 public:
  HeadLayers(const HeadConfig& head, const ModelWeights& weights, const Computing& computing);
  /// x [rows, width] to [rows, width of the last layer].
  [[nodiscard]] at::Tensor operator()(at::Tensor x) const;

 private:
  struct Step {
    HeadStep config;
    std::optional<Linear> linear, residual;
    std::optional<Norm> norm;
  };
  std::vector<Step> steps_;
};

class ScoreHead {
 public:
  ScoreHead(const ModelWeights& weights, const Computing& computing);
  [[nodiscard]] const HeadConfig& config() const { return config_; }
  /// [items, width] to [items], with the selected label's output; zeros for a model without a head.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& pooled) const;
  /// The output for packed items, from the last states of all tokens or, with `cls_only`, of their
  /// [CLS] tokens. `cls`: the indices of these tokens.
  [[nodiscard]] ModelOutput output_of(const at::Tensor& states, const SequenceLayout& layout,
                                      const at::Tensor& cls, bool cls_only) const;

 private:
  HeadConfig config_;
  HeadLayers layers_;
};

/// Error: documents from a cache, which a cross-encoder cannot use, or `shows` with a last layer
/// that computes [CLS] only.
[[nodiscard]] Status check_cross_encoder_call(const PairBatch& batch, bool shows, bool cls_only);

/// HeadLayers in float64.
[[nodiscard]] at::Tensor head_reference(const WideWeights& weights, const HeadConfig& head,
                                        at::Tensor x);
/// ScoreHead in float64 for one item: states [tokens, hidden] to its score.
[[nodiscard]] ReferenceOutput score_reference(const WideWeights& weights, const at::Tensor& states,
                                              const SequenceLayout& layout);

}  // namespace attnscope
