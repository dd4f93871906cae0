#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BERT's cross-encoder with LibTorch's autograd, on packed pairs without padding: the same scores
// as engine/model/bert, with gradients for its float32 weights. Uses LibTorch.
//
//   auto model = TrainedCrossEncoder::make(*weights, variant, "segment", KeptLayers::whole);
//   at::Tensor scores = *(*model)->scores({.items = {{query, document}}});   // [items], float32
//   scores.sum().backward();
//   (*model)->parameters().front().value.grad();

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// A weight in training: an autograd leaf, float32, with its family's name.
struct Parameter {
  std::string name;
  at::Tensor value;
};

/// Activations that are kept for the backward pass: all of every layer, or only the layer's input,
/// from which the layer is recomputed (Chen et al., 2016: memory of one layer for a third more
/// time).
enum class KeptLayers : bool { whole, inputs_alone };

/// Implementations of attention with a backward pass, the preferred one first: ours, and LibTorch's
/// scaled_dot_product_attention for the pattern `full`.
[[nodiscard]] std::vector<std::string_view> trained_implementations();

class TrainedCrossEncoder {
 public:
  /// Copies the weights. For an encoder without a head, call `with_head` first. Errors: a family
  /// other than BERT's, a pattern that the implementation does not support, float16 (its gradients
  /// underflow without loss scaling).
  [[nodiscard]] static Result<std::unique_ptr<TrainedCrossEncoder>> make(
      const ModelWeights& weights, const ModelVariant& variant, std::string_view implementation,
      KeptLayers kept);
  TrainedCrossEncoder() = default;
  TrainedCrossEncoder(const TrainedCrossEncoder&) = delete;
  TrainedCrossEncoder& operator=(const TrainedCrossEncoder&) = delete;
  virtual ~TrainedCrossEncoder() = default;

  /// [items], float32, with the autograd graph, which may be used after the model is destroyed.
  /// With the variant's option cls-only-last-layer, the last layer computes only what [CLS] needs:
  /// the same scores and gradients in less time. Errors: those of pack_batch and compile_plan.
  [[nodiscard]] virtual Result<at::Tensor> scores(const PairBatch& batch) const = 0;
  [[nodiscard]] virtual const std::vector<Parameter>& parameters() const = 0;
  [[nodiscard]] virtual const ModelConfig& config() const = 0;
};

/// The same weights with a pooler and a classifier, if they have none: initialised as in BERT,
/// biases 0.
[[nodiscard]] std::shared_ptr<const ModelWeights> with_head(
    const std::shared_ptr<const ModelWeights>& weights, std::uint64_t seed);

}  // namespace attnscope
