#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One layer of ModernBERT (Warner et al., 2024, Sec. 2.1.1): pre-normalization, no position
// embeddings added to the word embeddings, and a gated feed-forward network. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "engine/model/bert/encoder_layer.h"
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"

namespace attnscope {

class ModernLayer {
 public:
  /// `split`: only [CLS] of the layer is computed.
  ModernLayer(const ModelWeights& weights, std::int64_t number, const Computing& computing,
              bool split);

  /// Input of queries, keys and values: x [tokens, hidden] after its norm, which the first layer
  /// lacks.
  [[nodiscard]] at::Tensor normed(const at::Tensor& x) const;
  [[nodiscard]] const Projections& projections() const { return projections_; }

  /// The part of the layer after attention: output projection, both residual connections, gated
  /// feed-forward network. `o` and `x` are [tokens, hidden]; the result overwrites x.
  void finish(const at::Tensor& o, at::Tensor& x) const;
  static constexpr std::int64_t tokens_at_once = 256;

 private:
  std::optional<Norm> attention_norm_;
  Projections projections_;
  Linear attention_output_;
  Norm wide_norm_;
  Linear activated_, gate_, output_;
};

}  // namespace attnscope
