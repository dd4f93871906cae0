// SPDX-License-Identifier: Apache-2.0
//
// BERT's cross-encoder on packed token groups: [CLS], query and document of every pair, without
// padding, its attention by any implementation of the list (Schlatt et al., ECIR 2024, Sec. 3).
// From token ids to scores; layout and plan are compiled inside a call, once for all layers.

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/attention_stage.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"

namespace attnscope {

const FamilyDescription& bert_description();

namespace {

constexpr std::string_view position_table = "embeddings.position_embeddings.weight";

/// Where the embeddings of a batch are looked up.
struct Lookup {
  at::Tensor ids, positions, types;  // int64 [tokens]
};

/// Word, type and position embeddings, summed and normalised.
class Embeddings {
 public:
  Embeddings(const ModelWeights& weights, const Computing& computing)
      : words_(computing.of(weights.tensor("embeddings.word_embeddings.weight"))),
        positions_(computing.of(weights.tensor(position_table))),
        types_(computing.of(weights.tensor("embeddings.token_type_embeddings.weight"))),
        norm_(weights.norm("embeddings.LayerNorm"), computing, weights.shape().norm_epsilon) {}

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

/// tanh of the pooler's layer, then the one label; of an encoder without a head, 0.
class Head {
 public:
  Head(const ModelWeights& weights, Computing computing) {
    // A row a document: too few for packed weights to be worth anything.
    computing.route = LinearRoute::plain;
    if (weights.has("pooler.dense.weight")) pooler_ = computing.of(weights.linear("pooler.dense"));
    if (weights.has("classifier.weight")) classifier_ = computing.of(weights.linear("classifier"));
  }
  [[nodiscard]] at::Tensor operator()(const at::Tensor& cls_states) const {
    if (!classifier_) return at::zeros({cls_states.size(0), 1});
    if (!pooler_) return (*classifier_)(cls_states);
    return (*classifier_)((*pooler_)(cls_states).tanh());
  }

 private:
  std::optional<Linear> pooler_, classifier_;
};

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU, at::kFloat).contiguous();
  const float* first = host.const_data_ptr<float>();
  return {first, first + host.numel()};
}

/// Rows of global tokens at their places among all, zero elsewhere.
at::Tensor spread(const at::Tensor& rows, const at::Tensor& index, std::int64_t tokens) {
  const at::Tensor all = at::zeros({tokens, rows.size(1), rows.size(2)}, rows.options());
  all.index_copy_(0, index, rows);
  return all;
}

class CrossEncoder final : public Model {
 public:
  CrossEncoder(const ModelWeights& weights, ModelVariant variant,
               const Implementation& implementation, const Computing& computing)
      : shape_(weights.shape()),
        variant_(std::move(variant)),
        cls_only_(variant_.options.contains(cls_only_last_layer)),
        global_(variant_.options.contains(with_global_projections)),
        implementation_(implementation),
        embeddings_(weights, computing),
        head_(weights, computing) {
    layers_.reserve(static_cast<std::size_t>(shape_.layers));
    for (std::int64_t l = 0; l < shape_.layers; ++l) {
      layers_.emplace_back(weights, l, computing, cls_only_ && l + 1 == shape_.layers, global_);
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
    const std::int64_t whole = shape_.layers - (cls_only_ ? 1 : 0);
    ModelWork sum;
    add(layer_work(**stage), static_cast<double>(whole), sum);
    if (cls_only_) add(cls_layer_work(**stage), 1, sum);
    return sum;
  }

  Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    if (batch.documents != nullptr) {
      return fail("a cross-encoder reads query and document together, and takes no document cache");
    }
    if (show && cls_only_) {
      return fail(
          "what all tokens attend to in the last layer is not computed with {}; leave it out",
          cls_only_last_layer);
    }
    auto packed = pack_batch(batch, !show && shares_query(batch), shape_);
    if (!packed) return tl::unexpected(packed.error());
    return run(std::move(*packed), show);
  }

 private:
  [[nodiscard]] bool shares_query(const PairBatch& batch) const {
    return batch.one_query && !batch.items.empty() && !batch.items.front().query.empty() &&
           has_independent_query(variant_.pattern);
  }

  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage_of(const PairBatch& batch) const {
    auto layout = layout_of(batch, shares_query(batch));
    if (!layout) return tl::unexpected(layout.error());
    return AttentionStage::make(variant_, shape_, implementation_, std::move(*layout));
  }

  Result<ModelOutput> run(PackedBatch packed, const Show& show) {
    const c10::InferenceMode no_graph;
    use_torch_threads(variant_.threads);
    at::Tensor states = embeddings_(packed);
    auto stage = AttentionStage::make(variant_, shape_, implementation_, std::move(packed.layout));
    if (!stage) return tl::unexpected(stage.error());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (cls_only_ && l + 1 == layers_.size()) return finish(**stage, states);
      const auto o = (*stage)->attend(layers_[l], states, showing(**stage, l, show));
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
    return {.scores = floats_of(head_(cls_states)), .states = floats_of(cls_states)};
  }

  static AttentionStage::Seen showing(const AttentionStage& stage, std::size_t layer,
                                      const Show& show) {
    if (!show) return {};
    return [&stage, &show, layer](const LayerHeads& local, const LayerHeads* global) {
      const auto hand_out = [&](const char* name, const at::Tensor& heads) {
        show({static_cast<std::int64_t>(layer), name, heads.sizes().vec(), floats_of(heads)});
      };
      hand_out("q", local.q);
      hand_out("k", local.k);
      hand_out("v", local.v);
      if (global == nullptr) return;
      hand_out("q_global", spread(global->q, stage.global_index(), stage.layout().tokens()));
      hand_out("k_global", global->k);
      hand_out("v_global", global->v);
    };
  }

  [[nodiscard]] ModelWork layer_work(const AttentionStage& stage) const {
    ModelWork work = stage.work_of_layer();
    const auto tokens = static_cast<double>(stage.layout().tokens());
    const auto hidden = static_cast<double>(shape_.hidden);
    const auto wide = static_cast<double>(shape_.feed_forward);
    work.linear_flop = 2 * tokens * hidden * (4 * hidden + 2 * wide);
    if (global_) {
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
  bool cls_only_, global_;
  const Implementation& implementation_;
  Embeddings embeddings_;
  std::vector<EncoderLayer> layers_;
  Head head_;
};

/// `count` rows from the first to the last, the ones between two by linear interpolation.
at::Tensor interpolated(const at::Tensor& rows, std::int64_t count) {
  const at::Tensor place =
      at::linspace(0, static_cast<double>(rows.size(0) - 1), count, at::kDouble);
  const at::Tensor below = place.floor().clamp_max(static_cast<double>(rows.size(0) - 1));
  const at::Tensor above = place.ceil().clamp_max(static_cast<double>(rows.size(0) - 1));
  const at::Tensor weight = (place - below).to(at::kFloat).unsqueeze(1);
  return at::lerp(rows.index_select(0, below.to(at::kLong)),
                  rows.index_select(0, above.to(at::kLong)), weight);
}

class BertFamily final : public Family {
 public:
  [[nodiscard]] const FamilyDescription& description() const override { return bert_description(); }

  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {"segment", "sdpa", "windowed", "sdpa-mask", "dense"};
  }

  /// Asked of a small pair.
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const override {
    const auto found = implementation_named(implementation);
    if (!found) return tl::unexpected(found.error());
    auto layout = SequenceLayout::make({{.cls = 1, .query = 2, .documents = {4}}}, 0);
    if (!layout) return tl::unexpected(layout.error());
    const auto stage = AttentionStage::make(variant, config.shape, **found, std::move(*layout));
    return stage ? Status() : tl::unexpected(stage.error());
  }

  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    const c10::InferenceMode no_graph;
    const auto found = implementation_named(implementation);
    if (!found) return tl::unexpected(found.error());
    if (variant.options.contains(with_global_projections) &&
        !weights->has(name_of_layer(0) + "attention.self.query_global.weight")) {
      return fail(
          "pattern '{}' computes global tokens with projections of their own, and these weights "
          "have none; take a Longformer's checkpoint",
          variant.pattern.name);
    }
    use_torch_threads(variant.threads);
    const ModelShape& shape = weights->shape();
    const Computing computing{
        .dtype = variant.dtype,
        .device = torch_device(variant.device),
        .route = fastest_route(variant.dtype, variant.device, shape.hidden, shape.feed_forward)};
    return std::make_unique<CrossEncoder>(*weights, variant, **found, computing);
  }

  [[nodiscard]] std::vector<std::string_view> shortcuts() const override {
    return {cls_only_last_layer};
  }
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const override {
    return bert_reference(weights, variant, item, cls);
  }

  [[nodiscard]] double error_bound(DType dtype, const ModelShape& shape) const override {
    // Rounding of a layer's sums adds up over layers like a random walk, which LayerNorm holds in
    // check. The factors leave room over the largest errors seen in models of MiniLM's width with
    // one to six layers: 1.3e-6 in float32 and 4.3 roundings in 16 bits.
    const double walk = std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.layers, 1)));
    switch (dtype) {
      case DType::float32:
        return 4e-6 * walk;
      case DType::float16:
        return 8 * 0x1p-11 * walk;
      case DType::bfloat16:
        return 8 * 0x1p-8 * walk;
    }
    return 0;
  }

  /// By linear interpolation between the first and the last (Schlatt et al., Sec. 3.5).
  [[nodiscard]] Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const override {
    const c10::InferenceMode no_graph;
    ModelConfig config = weights->config();
    const at::Tensor& table = weights->tensor(position_table);
    const std::int64_t first = config.shape.first_position;
    ModelWeights::Tensors tensors = weights->tensors();
    tensors.find(position_table)->second =
        at::cat({table.narrow(0, 0, first),
                 interpolated(table.narrow(0, first, config.shape.positions), positions)});
    config.shape.positions = positions;
    return std::make_shared<const ModelWeights>(std::move(config), std::move(tensors));
  }
};

}  // namespace

const Family& bert_family() {
  static const BertFamily family;
  return family;
}

}  // namespace attnscope
