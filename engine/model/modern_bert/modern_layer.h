#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One layer of ModernBERT (Warner et al., 2024, Sec. 2.1.1): norms before what they feed, no sum of
// embeddings with positions, and a gated wide layer. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "engine/model/bert/encoder_layer.h"
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"

namespace attnscope {

class ModernLayer {
 public:
  /// `split`: a layer of which [CLS] alone is needed.
  ModernLayer(const ModelWeights& weights, std::int64_t number, const Computing& computing,
              bool split);

  /// What queries, keys and values are made of: x [tokens, hidden] behind its norm, which the first
  /// layer has not.
  [[nodiscard]] at::Tensor normed(const at::Tensor& x) const;
  [[nodiscard]] const Projections& projections() const { return projections_; }

  /// What follows attention: its output projection, both residuals, the gated wide layer. `o` and
  /// `x` are [tokens, hidden]; the result takes x's place.
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
