// SPDX-License-Identifier: Apache-2.0
#include "engine/model/cross_encoder.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/model/attention_stage.h"
#include "engine/model/encoder_layer.h"
#include "engine/model/packed_batch.h"

namespace attnscope {
namespace {

/// Where the embeddings of a batch are looked up.
struct Lookup {
  at::Tensor ids, positions, types;  // int64 [tokens]
};

/// Word, type and position embeddings, summed and normalised.
class Embeddings {
 public:
  Embeddings(const ModelWeights::Tensors& weights, const Computing& computing)
      : words_(computing.of(weights.words)),
        positions_(computing.of(weights.positions)),
        types_(computing.of(weights.types)),
        norm_(weights.embedding_norm, computing, weights.shape.norm_epsilon) {}

  [[nodiscard]] at::Tensor operator()(const PackedBatch& batch) const {
    const Lookup all{indices(batch.ids), indices(batch.positions), indices(batch.types)};
    const std::int64_t tokens = all.ids.size(0);
    at::Tensor states = at::empty({tokens, words_.size(1)}, words_.options());
    for (std::int64_t first = 0; first < tokens; first += EncoderLayer::tokens_at_once) {
      const std::int64_t count = std::min(EncoderLayer::tokens_at_once, tokens - first);
      at::Tensor sum = at::embedding(words_, all.ids.narrow(0, first, count));
      sum.add_(at::embedding(types_, all.types.narrow(0, first, count)));
      sum.add_(at::embedding(positions_, all.positions.narrow(0, first, count)));
      states.narrow(0, first, count).copy_(norm_(sum));
    }
    return states;
  }

 private:
  [[nodiscard]] at::Tensor indices(const std::vector<std::int64_t>& values) const {
    return at::tensor(values, at::kLong).to(words_.device());
  }
  at::Tensor words_, positions_, types_;
  Norm norm_;
};

/// tanh of the pooler's layer, then the one label.
class Head {
 public:
  Head(const ModelWeights::Tensors& weights, const Computing& computing)
      : classifier_(plain(computing).of(weights.classifier)) {
    if (weights.pooler) pooler_ = plain(computing).of(*weights.pooler);
  }
  [[nodiscard]] at::Tensor operator()(const at::Tensor& cls_states) const {
    if (!pooler_) return classifier_(cls_states);
    return classifier_((*pooler_)(cls_states).tanh());
  }

 private:
  // A row a document: too few for packed weights to be worth anything.
  static Computing plain(Computing computing) {
    computing.route = LinearRoute::plain;
    return computing;
  }
  Linear classifier_;
  std::optional<Linear> pooler_;
};

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU, at::kFloat).contiguous();
  const float* first = host.const_data_ptr<float>();
  return {first, first + host.numel()};
}

/// Rows of global tokens at their places among all, zero elsewhere.
std::vector<float> spread(const at::Tensor& rows, const at::Tensor& index, std::int64_t tokens) {
  const at::Tensor all = at::zeros({tokens, rows.size(1), rows.size(2)}, rows.options());
  all.index_copy_(0, index, rows);
  return floats_of(all);
}

class Encoder final : public CrossEncoder {
 public:
  Encoder(const ModelWeights& weights, ModelVariant variant, const Implementation& implementation,
          const Computing& computing)
      : shape_(weights.shape()),
        variant_(std::move(variant)),
        implementation_(implementation),
        embeddings_(weights.tensors(), computing),
        head_(weights.tensors(), computing) {
    const std::vector<LayerWeights>& layers = weights.tensors().layers;
    layers_.reserve(layers.size());
    for (const LayerWeights& layer : layers) {
      const bool split = variant_.cls_only_last_layer && &layer == &layers.back();
      layers_.emplace_back(layer, computing, shape_.norm_epsilon, split,
                           variant_.global_projections);
    }
  }

  Status supports(const PairBatch& batch) const override {
    const auto stage = stage_of(batch);
    return stage ? Status() : tl::unexpected(stage.error());
  }

  Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    const auto stage = stage_of(batch);
    if (!stage) return tl::unexpected(stage.error());
    const std::int64_t tokens = (*stage)->layout().tokens();
    const std::int64_t states = tokens * shape_.hidden * size_of(variant_.dtype);
    const std::int64_t piece = std::min(tokens, EncoderLayer::tokens_at_once) *
                               (3 * shape_.hidden + 2 * shape_.feed_forward) *
                               size_of(variant_.dtype);
    const std::int64_t indices = 3 * tokens * static_cast<std::int64_t>(sizeof(std::int64_t));
    return states + std::max((*stage)->peak_bytes(), states + piece) + indices;
  }

  Result<ModelWork> work(const PairBatch& batch) const override {
    const auto stage = stage_of(batch);
    if (!stage) return tl::unexpected(stage.error());
    const bool cls_only = variant_.cls_only_last_layer;
    const std::int64_t whole = shape_.layers - (cls_only ? 1 : 0);
    ModelWork sum;
    add(layer_work(**stage), static_cast<double>(whole), sum);
    if (cls_only) add(cls_layer_work(**stage), 1, sum);
    return sum;
  }

  Result<ModelOutput> score(const PairBatch& batch) override {
    const bool shares = shares_query(batch);
    auto packed = pack_batch(batch, shares, shape_);
    if (!packed) return tl::unexpected(packed.error());
    return run(std::move(*packed), {});
  }

  Result<ModelOutput> inspect(
      const PairBatch::Item& item, std::int32_t cls,
      const std::function<void(const CapturedLayer&)>& each_layer) override {
    if (variant_.cls_only_last_layer) {
      return fail(
          "what all tokens attend to in the last layer is not computed with cls-only-last-layer; "
          "leave it out");
    }
    auto packed = pack_batch({.items = {item}, .cls = cls}, /*shares_query=*/false, shape_);
    if (!packed) return tl::unexpected(packed.error());
    return run(std::move(*packed), each_layer);
  }

 private:
  using EachLayer = std::function<void(const CapturedLayer&)>;

  [[nodiscard]] bool shares_query(const PairBatch& batch) const {
    return batch.one_query && !batch.items.empty() && !batch.items.front().query.empty() &&
           has_independent_query(variant_.pattern);
  }

  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage_of(const PairBatch& batch) const {
    auto layout = layout_of(batch, shares_query(batch));
    if (!layout) return tl::unexpected(layout.error());
    return AttentionStage::make(variant_, shape_, implementation_, std::move(*layout));
  }

  Result<ModelOutput> run(PackedBatch packed, const EachLayer& each_layer) {
    const c10::InferenceMode no_graph;
    use_torch_threads(variant_.threads);
    at::Tensor states = embeddings_(packed);
    auto stage = AttentionStage::make(variant_, shape_, implementation_, std::move(packed.layout));
    if (!stage) return tl::unexpected(stage.error());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (variant_.cls_only_last_layer && l + 1 == layers_.size()) return finish(**stage, states);
      const auto o = (*stage)->attend(layers_[l], states, capture(**stage, l, each_layer));
      if (!o) return tl::unexpected(o.error());
      layers_[l].finish(*o, states);
    }
    return output_of(states.index_select(0, (*stage)->cls_index()));
  }

  /// The last layer, for [CLS] alone.
  Result<ModelOutput> finish(const AttentionStage& stage, const at::Tensor& states) const {
    const auto o = stage.attend_cls(layers_.back(), states);
    if (!o) return tl::unexpected(o.error());
    at::Tensor cls_states = states.index_select(0, stage.cls_index());
    layers_.back().finish(*o, cls_states);
    return output_of(cls_states);
  }

  [[nodiscard]] ModelOutput output_of(const at::Tensor& cls_states) const {
    return {.scores = floats_of(head_(cls_states)), .cls_states = floats_of(cls_states)};
  }

  static AttentionStage::Seen capture(const AttentionStage& stage, std::size_t layer,
                                      const EachLayer& each_layer) {
    if (!each_layer) return {};
    return [&stage, &each_layer, layer](const LayerHeads& local, const LayerHeads* global) {
      CapturedLayer captured{.layer = static_cast<std::int64_t>(layer),
                             .q = floats_of(local.q),
                             .k = floats_of(local.k),
                             .v = floats_of(local.v)};
      if (global != nullptr) {
        captured.q_global = spread(global->q, stage.global_index(), stage.layout().tokens());
        captured.k_global = floats_of(global->k);
        captured.v_global = floats_of(global->v);
      }
      each_layer(captured);
    };
  }

  [[nodiscard]] ModelWork layer_work(const AttentionStage& stage) const {
    ModelWork work = stage.work_of_layer();
    const auto tokens = static_cast<double>(stage.layout().tokens());
    const auto hidden = static_cast<double>(shape_.hidden);
    const auto wide = static_cast<double>(shape_.feed_forward);
    work.linear_flop = 2 * tokens * hidden * (4 * hidden + 2 * wide);
    if (variant_.global_projections) {
      work.linear_flop +=
          2 * hidden * hidden * (2 * tokens + static_cast<double>(stage.global_row_count()));
    }
    work.least_bytes += (2 * tokens * hidden + 4 * hidden * hidden + 2 * hidden * wide) *
                        static_cast<double>(size_of(variant_.dtype));
    return work;
  }

  [[nodiscard]] ModelWork cls_layer_work(const AttentionStage& stage) const {
    ModelWork work = stage.work_of_cls_layer();
    const auto tokens = static_cast<double>(stage.layout().tokens());
    const auto rows = static_cast<double>(stage.layout().item_count());
    const auto hidden = static_cast<double>(shape_.hidden);
    const auto wide = static_cast<double>(shape_.feed_forward);
    work.linear_flop = 2 * hidden * (2 * hidden * tokens + rows * (2 * hidden + 2 * wide));
    work.least_bytes += (tokens * hidden + 4 * hidden * hidden + 2 * hidden * wide) *
                        static_cast<double>(size_of(variant_.dtype));
    return work;
  }

  static void add(const ModelWork& layer, double times, ModelWork& sum) {
    sum.linear_flop += times * layer.linear_flop;
    sum.attention_flop += times * layer.attention_flop;
    sum.executed_attention_flop += times * layer.executed_attention_flop;
    sum.exponentials += times * layer.exponentials;
    sum.least_bytes += times * layer.least_bytes;
  }

  ModelShape shape_;
  ModelVariant variant_;
  const Implementation& implementation_;
  Embeddings embeddings_;
  std::vector<EncoderLayer> layers_;
  Head head_;
};

}  // namespace

Result<std::unique_ptr<CrossEncoder>> CrossEncoder::make(
    const std::shared_ptr<const ModelWeights>& weights, ModelVariant variant,
    const Implementation& implementation) {
  const c10::InferenceMode no_graph;
  if (variant.global_projections && !weights->has_global_projections()) {
    return fail(
        "pattern '{}' computes global tokens with projections of their own, and these weights have "
        "none; take a Longformer's checkpoint",
        variant.pattern.name);
  }
  use_torch_threads(variant.threads);
  const ModelShape& shape = weights->shape();
  const Computing computing{
      .dtype = variant.dtype,
      .device = torch_device(variant.device),
      .route = fastest_route(variant.dtype, variant.device, shape.hidden, shape.feed_forward)};
  return std::make_unique<Encoder>(*weights, std::move(variant), implementation, computing);
}

bool has_independent_query(const AttentionPattern& pattern) {
  if (pattern.blocks) return false;
  return std::ranges::all_of(token_groups, [&](TokenGroup group) {
    return group == TokenGroup::query ||
           pattern.rule(TokenGroup::query, group).kind == GroupRule::Kind::none;
  });
}

}  // namespace attnscope
