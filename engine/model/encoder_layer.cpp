// SPDX-License-Identifier: Apache-2.0
#include "engine/model/encoder_layer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>

#include <algorithm>

#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

LinearWeights beside(std::initializer_list<const LinearWeights*> parts) {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  weights.reserve(parts.size());
  biases.reserve(parts.size());
  for (const LinearWeights* part : parts) {
    weights.push_back(part->weight);
    biases.push_back(part->bias);
  }
  return {at::cat(weights), at::cat(biases)};
}

Projections projections_of(const LinearWeights& query, const LinearWeights& key,
                           const LinearWeights& value, const Computing& computing, bool split) {
  Projections projections;
  if (split) {
    projections.query = computing.of(query);
    projections.key_value = computing.of(beside({&key, &value}));
  } else {
    projections.all = computing.of(beside({&query, &key, &value}));
  }
  return projections;
}

Projections global_of(const LayerWeights& weights, const Computing& computing, bool global) {
  if (!global) return {};
  const GlobalProjectionWeights& own = *weights.global;
  return projections_of(own.query, own.key, own.value, computing, /*split=*/true);
}

}  // namespace

at::Tensor Computing::of(const at::Tensor& weight) const {
  return weight.to(device, scalar_type(dtype));
}

Linear Computing::of(const LinearWeights& weights) const {
  return {of(weights.weight), of(weights.bias), route};
}

Norm::Norm(const NormWeights& weights, const Computing& computing, double epsilon)
    : weight_(computing.of(weights.weight)), bias_(computing.of(weights.bias)), epsilon_(epsilon) {}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, weight_, bias_, epsilon_);
}

EncoderLayer::EncoderLayer(const LayerWeights& weights, const Computing& computing, double epsilon,
                           bool split, bool global)
    : projections_(projections_of(weights.query, weights.key, weights.value, computing, split)),
      global_(global_of(weights, computing, global)),
      attention_output_(computing.of(weights.attention_output)),
      attention_norm_(weights.attention_norm, computing, epsilon),
      intermediate_(computing.of(weights.intermediate)),
      output_(computing.of(weights.output)),
      output_norm_(weights.output_norm, computing, epsilon) {}

void EncoderLayer::finish(const at::Tensor& o, at::Tensor& x) const {
  const std::int64_t tokens = x.size(0);
  for (std::int64_t first = 0; first < tokens; first += tokens_at_once) {
    const std::int64_t count = std::min(tokens_at_once, tokens - first);
    at::Tensor states = x.narrow(0, first, count);
    const at::Tensor attended =
        attention_norm_(attention_output_.plus(o.narrow(0, first, count), states));
    at::Tensor wide = intermediate_(attended);
    at::gelu_(wide);
    states.copy_(output_norm_(output_.plus(wide, attended)));
  }
}

}  // namespace attnscope
