#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The weights of one encoder layer in the form used for computing, and everything in the layer
// except attention. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/model/linear.h"
#include "engine/model/model_weights.h"
#include "kernels/cpu/linear.h"

namespace attnscope {

/// Device, dtype and routes of a layer's computation.
struct Computing {
  DType dtype = DType::float32;
  at::Device device = at::kCPU;
  LinearRoute route = LinearRoute::plain;

  [[nodiscard]] at::Tensor of(const at::Tensor& weight) const;
  [[nodiscard]] Linear of(const LinearWeights& weights) const;
  [[nodiscard]] Norm of(const NormWeights& weights, double epsilon) const;
};

/// Prefix of a layer's tensor names.
[[nodiscard]] std::string name_of_layer(std::int64_t number);

/// The projections of a layer. `all` computes queries, keys and values in one product; a last layer
/// for [CLS] alone has `query` and `key_value` instead.
struct Projections {
  std::optional<Linear> all;               // [3 hidden, hidden]
  std::optional<Linear> query, key_value;  // [hidden, hidden], [2 hidden, hidden]
};

/// A layer's weights by their purpose.
struct LayerParts {
  LinearWeights all;  // queries, keys and values, fused
  LinearWeights attention_output, intermediate, output;
  NormWeights attention_norm, output_norm;
  double norm_epsilon = 0;
  cpu::Activation activation = cpu::Activation::gelu;  // of the wide layer
};

class EncoderLayer {
 public:
  EncoderLayer(const LayerParts& parts, const Computing& computing);
  /// `split`: only [CLS] of the layer is computed. `global`: Longformer's separate projections.
  EncoderLayer(const ModelWeights& weights, std::int64_t number, const Computing& computing,
               bool split, bool global);

  [[nodiscard]] const Projections& projections() const { return projections_; }
  /// Projections of global tokens; `query` and `key_value`.
  [[nodiscard]] const Projections& global() const { return global_; }

  /// The part of the layer after attention: output projection, both residual connections,
  /// feed-forward network. `o` and `x` are [tokens, hidden]; the result overwrites x. Processes
  /// tokens_at_once tokens at a time, so that the intermediate values stay in the caches.
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
