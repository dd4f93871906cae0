#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One encoder layer's weights as they are computed with, and all that is not attention in it.
// LibTorch inside.

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/model/linear.h"
#include "engine/model/model_weights.h"
#include "kernels/cpu/linear.h"

namespace attnscope {

/// Where and in what a layer computes.
struct Computing {
  DType dtype = DType::float32;
  at::Device device = at::kCPU;
  LinearRoute route = LinearRoute::plain;

  [[nodiscard]] at::Tensor of(const at::Tensor& weight) const;
  [[nodiscard]] Linear of(const LinearWeights& weights) const;
  [[nodiscard]] Norm of(const NormWeights& weights, double epsilon) const;
};

/// What its tensors' names begin with.
[[nodiscard]] std::string name_of_layer(std::int64_t number);

/// The projections of a layer. `all` makes queries, keys and values side by side; a last layer that
/// computes [CLS] alone has `query` and `key_value` instead.
struct Projections {
  std::optional<Linear> all;               // [3 hidden, hidden]
  std::optional<Linear> query, key_value;  // [hidden, hidden], [2 hidden, hidden]
};

/// A layer's weights by what they are for.
struct LayerParts {
  LinearWeights all;  // queries, keys and values side by side
  LinearWeights attention_output, intermediate, output;
  NormWeights attention_norm, output_norm;
  double norm_epsilon = 0;
  cpu::Activation activation = cpu::Activation::gelu;  // of the wide layer
};

class EncoderLayer {
 public:
  EncoderLayer(const LayerParts& parts, const Computing& computing);
  /// `split`: a layer of which [CLS] alone is needed. `global`: Longformer's own projections.
  EncoderLayer(const ModelWeights& weights, std::int64_t number, const Computing& computing,
               bool split, bool global);

  [[nodiscard]] const Projections& projections() const { return projections_; }
  /// Of global tokens; `query` and `key_value`.
  [[nodiscard]] const Projections& global() const { return global_; }

  /// What follows attention: its output projection, both residuals, the feed-forward network. `o`
  /// and `x` are [tokens, hidden]; the result takes x's place. In pieces of so many tokens that the
  /// wide layer's values stay in the caches.
  void finish(const at::Tensor& o, at::Tensor& x) const;
  static constexpr std::int64_t tokens_at_once = 512;

 private:
  Projections projections_, global_;
  cpu::Activation activation_ = cpu::Activation::gelu;
  Linear attention_output_;
  Norm attention_norm_;
  Linear intermediate_, output_;
  Norm output_norm_;
};

}  // namespace attnscope
