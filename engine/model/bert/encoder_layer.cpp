// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/encoder_layer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/attention/torch_tensors.h"
#include "engine/model/part_times.h"

namespace attnscope {
namespace {

/// Concatenates layers into one fused layer.
LinearWeights alongside(const ModelWeights& weights, const std::vector<std::string>& names) {
  std::vector<at::Tensor> parts;
  std::vector<at::Tensor> biases;
  for (const std::string& name : names) {
    parts.push_back(weights.tensor(name + ".weight"));
    biases.push_back(weights.tensor(name + ".bias"));
  }
  return {at::cat(parts), at::cat(biases)};
}

/// `suffix`: "_global" for Longformer's separate projections.
Projections projections_of(const ModelWeights& weights, const std::string& layer,
                           std::string_view suffix, const Computing& computing, bool split) {
  const auto name = [&](std::string_view part) {
    return fmt::format("{}attention.self.{}{}", layer, part, suffix);
  };
  Projections projections;
  if (split) {
    projections.query = computing.of(weights.linear(name("query")));
    projections.key_value = computing.of(alongside(weights, {name("key"), name("value")}));
  } else {
    projections.all = computing.of(alongside(weights, {name("query"), name("key"), name("value")}));
  }
  return projections;
}

}  // namespace

at::Tensor Computing::of(const at::Tensor& weight) const {
  return weight.to(device, scalar_type(dtype));
}

Linear Computing::of(const LinearWeights& weights) const {
  return {of(weights.weight), of(weights.bias), route};
}

Norm Computing::of(const NormWeights& weights, double epsilon) const {
  return {of(weights.weight), of(weights.bias), epsilon};
}

std::string name_of_layer(std::int64_t number) {
  return fmt::format("encoder.layer.{}.", number);
}

EncoderLayer::EncoderLayer(const ModelWeights& weights, std::int64_t number,
                           const Computing& computing, bool split, bool global)
    : projections_(projections_of(weights, name_of_layer(number), "", computing, split)) {
  const std::string layer = name_of_layer(number);
  const double epsilon = weights.shape().norm_epsilon;
  const auto norm = [&](const char* name) {
    return computing.of(weights.norm(layer + name), epsilon);
  };
  if (global) global_ = projections_of(weights, layer, "_global", computing, /*split=*/true);
  attention_output_ = computing.of(weights.linear(layer + "attention.output.dense"));
  attention_norm_ = norm("attention.output.LayerNorm");
  intermediate_ = computing.of(weights.linear(layer + "intermediate.dense"));
  output_ = computing.of(weights.linear(layer + "output.dense"));
  output_norm_ = norm("output.LayerNorm");
}

EncoderLayer::EncoderLayer(const LayerParts& parts, const Computing& computing)
    : activation_(parts.activation),
      attention_output_(computing.of(parts.attention_output)),
      attention_norm_(computing.of(parts.attention_norm, parts.norm_epsilon)),
      intermediate_(computing.of(parts.intermediate)),
      output_(computing.of(parts.output)),
      output_norm_(computing.of(parts.output_norm, parts.norm_epsilon)) {
  projections_.all = computing.of(parts.all);
}

void EncoderLayer::finish(const at::Tensor& o, at::Tensor& x) const {
  const std::int64_t tokens = x.size(0);
  for (std::int64_t first = 0; first < tokens; first += tokens_at_once) {
    const std::int64_t count = std::min(tokens_at_once, tokens - first);
    at::Tensor states = x.narrow(0, first, count);
    at::Tensor attended = at::empty_like(states);
    {
      const PartClock clock(ModelPart::projections);
      attention_output_.plus_normed(o.narrow(0, first, count), states, attention_norm_, attended);
    }
    const PartClock clock(ModelPart::feed_forward);
    output_.plus_normed(intermediate_(attended, activation_), attended, output_norm_, states);
  }
}

}  // namespace attnscope
