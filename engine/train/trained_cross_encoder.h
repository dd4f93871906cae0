#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BERT's cross-encoder as a graph of LibTorch's autograd, on packed pairs without padding: the same
// scores as engine/model/bert computes, from float32 weights that gradients come back to. LibTorch
// inside.
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

#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "kernels/base/result.h"

namespace attnscope {

/// A weight in training: a leaf of every graph, float32, by its family's name.
struct Parameter {
  std::string name;
  at::Tensor value;
};

/// What the way back finds: what every layer computed, or its input alone, from which the layer is
/// computed a second time (Chen et al., 2016: memory of one layer for a third more time).
enum class KeptLayers : bool { whole, inputs_alone };

/// Implementations of attention that have a way back here, the first choice first: ours, and
/// LibTorch's own scaled_dot_product_attention for the pattern `full`.
[[nodiscard]] std::vector<std::string_view> trained_implementations();

class TrainedCrossEncoder {
 public:
  /// Copies the weights. Of an encoder without a head, `with_head` makes one first. Errors: another
  /// family than BERT's, a pattern that the implementation does not take, float16 (its gradients
  /// vanish without a scale for the loss).
  [[nodiscard]] static Result<std::unique_ptr<TrainedCrossEncoder>> make(
      const ModelWeights& weights, const ModelVariant& variant, std::string_view implementation,
      KeptLayers kept);
  TrainedCrossEncoder() = default;
  TrainedCrossEncoder(const TrainedCrossEncoder&) = delete;
  TrainedCrossEncoder& operator=(const TrainedCrossEncoder&) = delete;
  virtual ~TrainedCrossEncoder() = default;

  /// [items], float32, with the graph behind it. With the variant's option cls-only-last-layer the
  /// last layer computes what [CLS] needs: the same scores and gradients, sooner. Errors: those of
  /// pack_batch and compile_plan.
  [[nodiscard]] virtual Result<at::Tensor> scores(const PairBatch& batch) const = 0;
  [[nodiscard]] virtual const std::vector<Parameter>& parameters() const = 0;
  [[nodiscard]] virtual const ModelConfig& config() const = 0;
};

/// The same weights with a pooler and a classifier, where they have none: drawn as BERT's are,
/// biases 0.
[[nodiscard]] std::shared_ptr<const ModelWeights> with_head(
    const std::shared_ptr<const ModelWeights>& weights, std::uint64_t seed);

}  // namespace attnscope
