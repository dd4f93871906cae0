// SPDX-License-Identifier: Apache-2.0
#include "engine/model/modern_bert/modern_bert_reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <any>
#include <string>
#include <vector>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/bert/reference.h"
#include "engine/model/modern_bert/modern_bert_config.h"
#include "engine/model/modern_bert/rotary.h"
#include "engine/model/score_head.h"

namespace attnscope {
namespace {

class ModernReference : public WideWeights {
 public:
  ModernReference(const ModelWeights& weights, const ModelVariant& variant,
                  const PackedBatch& packed)
      : WideWeights(weights, variant.dtype), variant_(variant), packed_(packed) {}

  [[nodiscard]] at::Tensor states() const {
    const ModelConfig& config = weights().config();
    const auto& own = std::any_cast<const ModernBertConfig&>(config.own);
    const SequenceLayout& layout = packed_.layout;
    const MaskedAttention all(variant_.pattern, variant_.window, layout, weights().shape());
    std::optional<MaskedAttention> local;
    if (variant_.local) {
      local.emplace(variant_.local->pattern, variant_.local->window, layout, weights().shape());
    }
    at::Tensor x = norm("embeddings.norm",
                        at::embedding(wide(weights().tensor("embeddings.tok_embeddings.weight")),
                                      at::tensor(packed_.ids, at::kLong)));
    const Rotation of_full = rotation(own.full_theta), of_local = rotation(own.local_theta);
    for (std::int64_t l = 0; l < config.shape.layers; ++l) {
      const bool is_local = config.is_local[static_cast<std::size_t>(l)];
      x = layer(l, x, is_local && local ? *local : all, is_local ? of_local : of_full);
    }
    return norm("final_norm", x);
  }

 private:
  struct Rotation {
    at::Tensor cosine, sine;  // [tokens, 1, head_dim / 2]
  };
  [[nodiscard]] Rotation rotation(double theta) const {
    const ModelShape& shape = weights().shape();
    const at::Tensor angles = RotaryTable(theta, shape.head_dim(), shape.positions, at::kCPU)
                                  .angles()
                                  .index_select(0, at::tensor(packed_.positions, at::kLong))
                                  .to(at::kDouble)
                                  .unsqueeze(1);
    return {angles.cos(), angles.sin()};
  }
  /// x [tokens, hidden] rotated head by head.
  [[nodiscard]] at::Tensor rotated(const at::Tensor& x, const Rotation& by) const {
    const ModelShape& shape = weights().shape();
    const at::Tensor heads = x.unflatten(1, {shape.heads, shape.head_dim()});
    const std::int64_t half = shape.head_dim() / 2;
    const at::Tensor a = heads.narrow(2, 0, half), b = heads.narrow(2, half, half);
    return at::cat({a * by.cosine - b * by.sine, b * by.cosine + a * by.sine}, 2).flatten(1);
  }

  [[nodiscard]] at::Tensor layer(std::int64_t number, const at::Tensor& x,
                                 const MaskedAttention& attention, const Rotation& by) const {
    const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", number, part); };
    const std::int64_t hidden = weights().shape().hidden,
                       wide_width = weights().shape().feed_forward;
    const at::Tensor projected =
        linear(name("attn.Wqkv"), number == 0 ? x : norm(name("attn_norm"), x));
    const at::Tensor o = attention.of(rotated(projected.narrow(1, 0, hidden), by),
                                      rotated(projected.narrow(1, hidden, hidden), by),
                                      projected.narrow(1, 2 * hidden, hidden));
    const at::Tensor attended = x + linear(name("attn.Wo"), o);
    const at::Tensor both = linear(name("mlp.Wi"), norm(name("mlp_norm"), attended));
    const at::Tensor gated =
        at::gelu(both.narrow(1, 0, wide_width)) * both.narrow(1, wide_width, wide_width);
    return attended + linear(name("mlp.Wo"), gated);
  }

  const ModelVariant& variant_;
  const PackedBatch& packed_;
};

}  // namespace

at::Tensor modern_bert_reference_states(const ModelWeights& weights, const ModelVariant& variant,
                                        const PackedBatch& packed) {
  return ModernReference(weights, variant, packed).states();
}

Result<ReferenceOutput> modern_bert_reference(const ModelWeights& weights,
                                              const ModelVariant& variant,
                                              const PairBatch::Item& item, std::int32_t cls) {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto packed =
      pack_batch({.items = {item}, .cls = cls}, /*shares_query=*/false, weights.shape());
  if (!packed) return tl::unexpected(packed.error());
  return score_reference(WideWeights(weights, variant.dtype),
                         modern_bert_reference_states(weights, variant, *packed), packed->layout);
}

}  // namespace attnscope
