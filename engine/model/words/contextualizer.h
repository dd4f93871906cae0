#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Layers of attention over words, as PyTorch's TransformerEncoder has them: LayerNorm behind each
// residual, ReLU in the feed-forward network (Vaswani et al., 2017). Sequences lie one after the
// other without padding; each sees itself alone. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/bert/attention_stage.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

class Contextualizer {
 public:
  /// The attention of a sequence is whole, by that implementation.
  Contextualizer(const ModelWeights& weights, const ModelVariant& variant,
                 const Implementation& implementation);

  /// x [words of all, hidden], with positions, through all layers; it is overwritten. Sequences of
  /// these lengths, a few at a time through all layers, so that states stay in the caches.
  /// Errors: what the implementation says.
  [[nodiscard]] Status run(at::Tensor& x, std::span<const std::int64_t> lengths) const;
  [[nodiscard]] Result<ModelWork> work(std::span<const std::int64_t> lengths) const;
  /// Of a run, beside x.
  [[nodiscard]] std::int64_t peak_bytes(std::span<const std::int64_t> lengths) const;

 private:
  /// Of sequences that go through all layers together, in numbers of words. Those after one another
  /// that are alike are planned once.
  using PieceUse = std::function<Status(AttentionStage&, std::int64_t)>;
  [[nodiscard]] Status each_piece(std::span<const std::int64_t> lengths, const PieceUse& use) const;
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage(
      std::span<const std::int64_t> lengths) const;

  ModelShape shape_;
  ModelVariant variant_;  // stages look at it
  const Implementation& implementation_;
  std::vector<EncoderLayer> layers_;
};

/// By which the attention of words can be computed, the first choice first.
[[nodiscard]] std::vector<std::string_view> word_implementations();

/// m e + (1 - m) x, in x's place: what TK calls the hybrid of word vectors and their context.
void mix(const at::Tensor& embedded, double mixer, at::Tensor& x);

/// Rows 0 .. count - 1 of sines, then cosines, of falling rates: [count, hidden].
[[nodiscard]] at::Tensor sinusoid_rows(std::int64_t count, std::int64_t hidden);

}  // namespace attnscope
