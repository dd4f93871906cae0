// SPDX-License-Identifier: Apache-2.0
//
// Every layer written with LibTorch's double operations; the mask comes from the oracle, pair by
// pair. The reference shares only the weights with the code that it tests.
#include "engine/model/bert/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/score_head.h"

namespace attnscope {

MaskedAttention::MaskedAttention(const AttentionPattern& pattern, std::optional<Window> window,
                                 const SequenceLayout& layout, const ModelShape& shape)
    : layout_(layout),
      shape_(shape),
      oracle_(pattern, window, layout),
      differs_by_head_(pattern.blocks.has_value()) {
  const std::int64_t different = differs_by_head_ ? shape.heads : 1;
  masks_.reserve(static_cast<std::size_t>(different));
  for (std::int64_t h = 0; h < different; ++h) masks_.push_back(mask(h));
}

/// bool [tokens, tokens]: true where a pair is not allowed.
at::Tensor MaskedAttention::mask(std::int64_t head) const {
  const std::int64_t tokens = layout_.tokens();
  at::Tensor hidden = at::empty({tokens, tokens}, at::kBool);
  bool* entry = hidden.data_ptr<bool>();
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t j = 0; j < tokens; ++j) {
      *entry++ = !oracle_.allowed(static_cast<std::int32_t>(head), i, j);
    }
  }
  return hidden;
}

at::Tensor MaskedAttention::of(const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v) const {
  constexpr std::int64_t rows_at_once = 512;
  const std::int64_t tokens = layout_.tokens(), dim = shape_.head_dim();
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  at::Tensor o = at::empty(q.sizes(), q.options());
  for (std::int64_t h = 0; h < shape_.heads; ++h) {
    const at::Tensor& mask = masks_[differs_by_head_ ? static_cast<std::size_t>(h) : 0];
    const at::Tensor keys = k.narrow(1, h * dim, dim).t();
    const at::Tensor values = v.narrow(1, h * dim, dim);
    for (std::int64_t first = 0; first < tokens; first += rows_at_once) {
      const std::int64_t count = std::min(rows_at_once, tokens - first);
      const at::Tensor hidden = mask.narrow(0, first, count);
      const at::Tensor scores =
          at::matmul(q.narrow(0, first, count).narrow(1, h * dim, dim), keys) * scale;
      const at::Tensor weights =
          at::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), 1)
              .masked_fill(hidden.all(1, /*keepdim=*/true), 0);
      o.narrow(0, first, count).narrow(1, h * dim, dim).copy_(at::matmul(weights, values));
    }
  }
  return o;
}

ReferenceEncoder::ReferenceEncoder(const ModelWeights& weights, const ModelVariant& variant,
                                   const SequenceLayout& layout)
    : WideWeights(weights, variant.dtype),
      variant_(variant),
      layout_(layout),
      attention_(variant.pattern, variant.window, layout_, weights.shape()) {
  if (variant.options.contains(with_global_projections)) find_global_rows();
}

at::Tensor ReferenceEncoder::embed(const PackedBatch& batch, const std::string& learned) const {
  const auto look_up = [](const at::Tensor& table, const std::vector<std::int64_t>& rows) {
    return at::embedding(table, at::tensor(rows, at::kLong));
  };
  const auto table = [this](const char* name) { return wide(weights().tensor(name)); };
  at::Tensor words = table("embeddings.word_embeddings.weight");
  if (!learned.empty()) words = at::cat({words, wide(weights().tensor(learned))});
  constexpr const char* types = "embeddings.token_type_embeddings.weight";
  at::Tensor sum = look_up(words, batch.ids) +
                   look_up(table("embeddings.position_embeddings.weight"), batch.positions);
  if (weights().has(types)) sum = sum + look_up(table(types), batch.types);
  const at::Tensor states = norm("embeddings.LayerNorm", sum);
  return weights().shape().embedding > 0 ? linear("embeddings_project", states) : states;
}

at::Tensor ReferenceEncoder::run(at::Tensor x, std::int64_t first, std::int64_t end) const {
  for (std::int64_t l = first; l < end; ++l) x = encode(name_of_layer(l), x);
  return x;
}

at::Tensor ReferenceEncoder::encode(const std::string& layer, const at::Tensor& x) const {
  at::Tensor o = attend(layer, "", x);
  if (!global_rows_.empty()) {
    const at::Tensor index = at::tensor(global_rows_, at::kLong);
    o.index_copy_(0, index, attend(layer, "_global", x).index_select(0, index));
  }
  const at::Tensor y =
      norm(layer + "attention.output.LayerNorm", x + linear(layer + "attention.output.dense", o));
  const at::Tensor wide_layer = at::gelu(linear(layer + "intermediate.dense", y));
  return norm(layer + "output.LayerNorm", y + linear(layer + "output.dense", wide_layer));
}

/// Uses a layer's projections, or Longformer's "_global" projections.
at::Tensor ReferenceEncoder::attend(const std::string& layer, const std::string& own,
                                    const at::Tensor& x) const {
  const std::string self = layer + "attention.self.";
  return attention_.of(linear(self + "query" + own, x), linear(self + "key" + own, x),
                       linear(self + "value" + own, x));
}

/// Tokens of groups that attend to and are attended to by the whole item, independent of a window.
void ReferenceEncoder::find_global_rows() {
  const std::int64_t tokens = layout_.tokens();
  for (std::int64_t i = 0; i < tokens; ++i) {
    const TokenGroup group = attention_.oracle().place_of(i).group;
    const auto whole = [&](TokenGroup from, TokenGroup to) {
      return variant_.pattern.rule(from, to).kind == GroupRule::Kind::whole;
    };
    if (whole(group, TokenGroup::document) && whole(TokenGroup::document, group)) {
      global_rows_.push_back(i);
    }
  }
}

at::Tensor bert_reference_states(const ModelWeights& weights, const ModelVariant& variant,
                                 const PackedBatch& packed) {
  at::Tensor x = ReferenceEncoder(weights, variant, packed.layout).embed(packed);
  for (const auto& [layers, window] : layers_by_window(variant, weights.shape().layers)) {
    ModelVariant windowed = variant;
    windowed.window = window;
    x = ReferenceEncoder(weights, windowed, packed.layout).run(x, layers.first, layers.end);
  }
  return x;
}

Result<ReferenceOutput> bert_reference(const ModelWeights& weights, const ModelVariant& variant,
                                       const PairBatch::Item& item, std::int32_t cls) {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto packed = pack_batch(
      {.items = {item}, .cls = cls, .is_one_text = variant.options.contains(pair_is_one_text)},
      /*shares_query=*/false, weights.shape());
  if (!packed) return tl::unexpected(packed.error());
  return score_reference(WideWeights(weights, variant.dtype),
                         bert_reference_states(weights, variant, *packed), packed->layout);
}

}  // namespace attnscope
