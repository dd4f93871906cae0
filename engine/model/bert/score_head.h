#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What makes a score of an encoder's last output for [CLS]. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/encoder_layer.h"

namespace attnscope {

/// tanh, unless a family's BertConfig says otherwise.
[[nodiscard]] HeadActivation head_activation(const ModelConfig& config);

/// The pooler's layer, where there is one, and its activation, then the one label; of an encoder
/// without a head, 0.
class ScoreHead {
 public:
  ScoreHead(const ModelWeights& weights, Computing computing);
  /// [items, hidden] to [items, 1].
  [[nodiscard]] at::Tensor operator()(const at::Tensor& cls_states) const;

 private:
  std::optional<Linear> pooler_, classifier_;
  HeadActivation activation_;
};

}  // namespace attnscope
