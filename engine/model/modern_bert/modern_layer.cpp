// SPDX-License-Identifier: Apache-2.0
#include "engine/model/modern_bert/modern_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/model/part_times.h"

namespace attnscope {
namespace {

/// A range of rows of a layer's weights.
LinearWeights rows_of(const LinearWeights& weights, std::int64_t first, std::int64_t count) {
  return {weights.weight.narrow(0, first, count), weights.bias.narrow(0, first, count)};
}

}  // namespace

ModernLayer::ModernLayer(const ModelWeights& weights, std::int64_t number,
                         const Computing& computing, bool split) {
  const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", number, part); };
  const ModelShape& shape = weights.shape();
  const auto norm = [&](const char* part) {
    return computing.of(weights.norm(name(part)), shape.norm_epsilon);
  };
  if (number > 0) attention_norm_ = norm("attn_norm");
  const LinearWeights all = weights.linear(name("attn.Wqkv"));
  if (split) {
    projections_.query = computing.of(rows_of(all, 0, shape.hidden));
    projections_.key_value = computing.of(rows_of(all, shape.hidden, 2 * shape.hidden));
  } else {
    projections_.all = computing.of(all);
  }
  attention_output_ = computing.of(weights.linear(name("attn.Wo")));
  wide_norm_ = norm("mlp_norm");
  const LinearWeights wide = weights.linear(name("mlp.Wi"));
  activated_ = computing.of(rows_of(wide, 0, shape.feed_forward));
  gate_ = computing.of(rows_of(wide, shape.feed_forward, shape.feed_forward));
  output_ = computing.of(weights.linear(name("mlp.Wo")));
}

at::Tensor ModernLayer::normed(const at::Tensor& x) const {
  return attention_norm_ ? (*attention_norm_)(x) : x;
}

void ModernLayer::finish(const at::Tensor& o, at::Tensor& x) const {
  const std::int64_t tokens = x.size(0);
  for (std::int64_t first = 0; first < tokens; first += tokens_at_once) {
    const std::int64_t count = std::min(tokens_at_once, tokens - first);
    at::Tensor states = x.narrow(0, first, count);
    at::Tensor attended;
    {
      const PartClock clock(ModelPart::projections);
      attended = attention_output_.plus(o.narrow(0, first, count), states);
    }
    const PartClock clock(ModelPart::feed_forward);
    const at::Tensor normed = wide_norm_(attended);
    at::Tensor wide = activated_(normed, cpu::Activation::gelu);
    gate_.times(normed, wide);
    states.copy_(output_.plus(wide, attended));
  }
}

}  // namespace attnscope
