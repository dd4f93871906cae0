// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/score_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/zeros.h>

#include <any>

#include "engine/model/part_times.h"

namespace attnscope {

HeadActivation head_activation(const ModelConfig& config) {
  const auto* own = std::any_cast<BertConfig>(&config.own);
  return own != nullptr ? own->activation : HeadActivation::tanh;
}

ScoreHead::ScoreHead(const ModelWeights& weights, Computing computing)
    : activation_(head_activation(weights.config())) {
  // A row a document: too few for packed weights to be worth anything.
  computing.route = LinearRoute::plain;
  if (weights.has("pooler.dense.weight")) pooler_ = computing.of(weights.linear("pooler.dense"));
  if (weights.has("classifier.weight")) classifier_ = computing.of(weights.linear("classifier"));
}

at::Tensor ScoreHead::operator()(const at::Tensor& cls_states) const {
  const PartClock clock(ModelPart::head);
  if (!classifier_) return at::zeros({cls_states.size(0), 1});
  if (!pooler_) return (*classifier_)(cls_states);
  const at::Tensor pooled = (*pooler_)(cls_states);
  return (*classifier_)(activation_ == HeadActivation::gelu ? at::gelu(pooled) : pooled.tanh());
}

}  // namespace attnscope
