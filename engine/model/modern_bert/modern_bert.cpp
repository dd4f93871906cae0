// SPDX-License-Identifier: Apache-2.0
//
// ModernBERT's cross-encoder on packed token groups: most layers have a window on each side, every
// third attends to all tokens; each kind has its own plan, compiled once per call. Computes scores
// from token ids.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/bert/reference.h"
#include "engine/model/family.h"
#include "engine/model/modern_bert/modern_layer.h"
#include "engine/model/part_times.h"
#include "engine/model/score_head.h"
#include "engine/model/text_encoder.h"

namespace attnscope {

const FamilyDescription& modern_bert_description();

namespace {

const ModernBertConfig& own_config(const ModelConfig& config) {
  return std::any_cast<const ModernBertConfig&>(config.own);
}

/// The variant of the layers that the config calls local; without one, they attend as the others.
ModelVariant of_local_layers(const ModelVariant& variant) {
  ModelVariant local = variant;
  if (variant.local) {
    local.pattern = variant.local->pattern;
    local.window = variant.local->window;
  }
  return local;
}

/// The attention of one call: of all layers, or one per kind.
struct Stages {
  std::unique_ptr<AttentionStage> all, local;
  [[nodiscard]] const AttentionStage& of(bool is_local) const {
    return is_local && local ? *local : *all;
  }
};

/// ModernBERT's embeddings and layers.
class ModernEncoder {
 public:
  ModernEncoder(const ModelWeights& weights, const ModelVariant& variant,
                const Implementation& implementation, const Computing& computing)
      : config_(weights.config()),
        variant_(variant),
        local_variant_(of_local_layers(variant)),
        query_variant_(variant),
        local_query_variant_(local_variant_),
        implementation_(implementation),
        cls_alone_(variant.options.contains(cls_only_last_layer)),
        words_(computing.of(weights.tensor("embeddings.tok_embeddings.weight"))),
        embedding_norm_(computing.of(weights.norm("embeddings.norm"), epsilon())),
        final_norm_(computing.of(weights.norm("final_norm"), epsilon())),
        full_table_(own().full_theta, shape().head_dim(), shape().positions, computing.device),
        local_table_(own().local_theta, shape().head_dim(), shape().positions, computing.device) {
    query_variant_.pattern = query_pattern();
    query_variant_.window.reset();
    local_query_variant_.pattern.item_hides_documents = true;
    layers_.reserve(static_cast<std::size_t>(shape().layers));
    for (std::int64_t l = 0; l < shape().layers; ++l)
      layers_.emplace_back(weights, l, computing, cls_alone_ && l + 1 == shape().layers);
  }

  [[nodiscard]] const ModelShape& shape() const { return config_.shape; }
  [[nodiscard]] bool cls_alone() const { return cls_alone_; }
  /// Whether one encoding of a query serves all documents.
  [[nodiscard]] bool has_independent_queries() const {
    return has_independent_query(variant_.pattern) && has_independent_query(local_variant_.pattern);
  }

  [[nodiscard]] Result<Stages> stages_for(const SequenceLayout& layout) const {
    return stages_of(variant_, variant_.local ? &local_variant_ : nullptr, layout);
  }
  [[nodiscard]] Result<Stages> stages_for_queries(const SequenceLayout& layout) const {
    if (!variant_.local) return stages_of(query_variant_, nullptr, layout);
    if (!has_unseen_tokens(layout)) return stages_of(query_variant_, &local_variant_, layout);
    if (!local_variant_.pattern.item) {
      return fail(
          "if other tokens do not attend to a query's expansion, local layers need a window over "
          "all tokens, not the pattern '{}'",
          local_variant_.pattern.name);
    }
    return stages_of(query_variant_, &local_query_variant_, layout);
  }

  [[nodiscard]] std::int64_t peak_bytes(const Stages& stages) const {
    const std::int64_t element = size_of(variant_.dtype);
    const std::int64_t tokens = stages.all->layout().tokens();
    const std::int64_t states = tokens * shape().hidden * element;
    const std::int64_t piece = std::min(tokens, ModernLayer::tokens_at_once) *
                               (3 * shape().hidden + 2 * shape().feed_forward) * element;
    const std::int64_t attention = std::max(stages.all->peak_bytes(), stages.of(true).peak_bytes());
    // In addition to the states, a layer's normalized states.
    return 2 * states + std::max(attention, states + piece) +
           2 * tokens * static_cast<std::int64_t>(sizeof(std::int64_t));
  }

  [[nodiscard]] ModelWork work(const Stages& stages) const {
    ModelWork sum;
    for (std::int64_t l = 0; l < shape().layers; ++l) {
      const AttentionStage& stage = stages.of(is_local(l));
      add(cls_alone_ && l + 1 == shape().layers ? work_of_cls_layer(stage) : work_of_layer(stage),
          1, sum);
    }
    return sum;
  }

  /// The last layer's states [tokens, hidden]; for [CLS] alone if the variant requests it.
  [[nodiscard]] Result<at::Tensor> run(const Stages& stages, const PackedBatch& packed,
                                       const Show& show = {}) const {
    const at::Tensor ids = at::tensor(packed.ids, at::kLong).to(words_.device());
    const at::Tensor positions = at::tensor(packed.positions, at::kLong).to(words_.device());
    at::Tensor x = embedded(ids);
    for (std::int64_t l = 0; l < shape().layers; ++l) {
      const ModernLayer& layer = layers_[static_cast<std::size_t>(l)];
      const AttentionStage& stage = stages.of(is_local(l));
      if (cls_alone_ && l + 1 == shape().layers) return cls_states(layer, stage, positions, l, x);
      const LayerHeads heads = heads_of(l, x, positions);
      const auto o = stage.attend(heads);
      if (!o) return o;
      if (show) shown_of(stage, show)(l, heads, nullptr);
      layer.finish(*o, x);
    }
    return final_norm_(x);
  }

 private:
  [[nodiscard]] const ModernBertConfig& own() const { return own_config(config_); }
  [[nodiscard]] double epsilon() const { return shape().norm_epsilon; }
  [[nodiscard]] bool is_local(std::int64_t layer) const {
    return config_.is_local[static_cast<std::size_t>(layer)];
  }

  [[nodiscard]] Result<Stages> stages_of(const ModelVariant& all, const ModelVariant* local,
                                         const SequenceLayout& layout) const {
    Stages stages;
    auto made = AttentionStage::make(all, shape(), implementation_, layout);
    if (!made) return tl::unexpected(made.error());
    stages.all = std::move(*made);
    if (local == nullptr) return stages;
    made = AttentionStage::make(*local, shape(), implementation_, layout);
    if (!made) return tl::unexpected(made.error());
    stages.local = std::move(*made);
    return stages;
  }

  [[nodiscard]] at::Tensor embedded(const at::Tensor& ids) const {
    const PartClock clock(ModelPart::embeddings);
    return embedding_norm_(at::embedding(words_, ids));
  }

  [[nodiscard]] LayerHeads heads_of(std::int64_t layer, const at::Tensor& x,
                                    const at::Tensor& positions) const {
    const PartClock clock(ModelPart::projections);
    const ModernLayer& own = layers_[static_cast<std::size_t>(layer)];
    const at::Tensor projected = (*own.projections().all)(own.normed(x));
    // Queries and keys are adjacent: one call rotates both.
    table_of(layer).rotate(projected.narrow(1, 0, 2 * shape().hidden)
                               .unflatten(1, {2 * shape().heads, shape().head_dim()}),
                           positions);
    return {heads_at(projected, 0, shape()), heads_at(projected, 1, shape()),
            heads_at(projected, 2, shape())};
  }

  [[nodiscard]] Result<at::Tensor> cls_states(const ModernLayer& layer, const AttentionStage& stage,
                                              const at::Tensor& positions, std::int64_t number,
                                              const at::Tensor& x) const {
    const PartClock clock(ModelPart::projections);
    const at::Tensor normed = layer.normed(x);
    const at::Tensor key_value = (*layer.projections().key_value)(normed);
    const at::Tensor keys = heads_at(key_value, 0, shape());
    table_of(number).rotate(keys, positions);
    const at::Tensor query =
        (*layer.projections().query)(normed.index_select(0, stage.cls_index()));
    const at::Tensor q = heads_at(query, 0, shape());
    table_of(number).rotate(q, positions.index_select(0, stage.cls_index()));
    const auto o = stage.attend_cls({q, keys, heads_at(key_value, 1, shape())});
    if (!o) return o;
    at::Tensor states = x.index_select(0, stage.cls_index());
    layer.finish(*o, states);
    return final_norm_(states);
  }

  [[nodiscard]] const RotaryTable& table_of(std::int64_t layer) const {
    return is_local(layer) ? local_table_ : full_table_;
  }

  [[nodiscard]] ModelWork work_of_layer(const AttentionStage& stage) const {
    ModelWork work = stage.work_of_layer();
    const auto tokens = static_cast<double>(stage.layout().tokens());
    const auto hidden = static_cast<double>(shape().hidden);
    const auto weights = hidden * (4 * hidden + 3 * static_cast<double>(shape().feed_forward));
    work.linear_flop = 2 * tokens * weights;
    work.feed_forward_flop = 6 * tokens * hidden * static_cast<double>(shape().feed_forward);
    work.least_bytes +=
        (2 * tokens * hidden + weights) * static_cast<double>(size_of(variant_.dtype));
    return work;
  }

  [[nodiscard]] ModelWork work_of_cls_layer(const AttentionStage& stage) const {
    ModelWork work = stage.work_of_cls_layer();
    const auto tokens = static_cast<double>(stage.layout().tokens());
    const auto rows = static_cast<double>(stage.cls_index().size(0));
    const auto hidden = static_cast<double>(shape().hidden);
    const auto wide = static_cast<double>(shape().feed_forward);
    work.feed_forward_flop = 6 * rows * hidden * wide;
    work.linear_flop = 4 * hidden * hidden * (tokens + rows) + work.feed_forward_flop;
    work.least_bytes += (tokens * hidden + hidden * (4 * hidden + 3 * wide)) *
                        static_cast<double>(size_of(variant_.dtype));
    return work;
  }

  ModelConfig config_;
  // Stages refer to them.
  ModelVariant variant_, local_variant_, query_variant_, local_query_variant_;
  const Implementation& implementation_;
  bool cls_alone_;
  at::Tensor words_;
  Norm embedding_norm_, final_norm_;
  RotaryTable full_table_, local_table_;
  std::vector<ModernLayer> layers_;
};

class ModernBert final : public Model {
 public:
  ModernBert(const ModelWeights& weights, const ModelVariant& variant,
             const Implementation& implementation, const Computing& computing)
      : threads_(variant.threads),
        encoder_(weights, variant, implementation, computing),
        head_(weights, computing) {}

  Status supports(const PairBatch& batch) const override {
    const auto stages = stages_of(batch);
    return stages ? Status() : tl::unexpected(stages.error());
  }

  Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    return stages_of(batch).map([&](const Stages& stages) { return encoder_.peak_bytes(stages); });
  }

  Result<ModelWork> work(const PairBatch& batch) const override {
    return stages_of(batch).map([&](const Stages& stages) { return encoder_.work(stages); });
  }

  Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    Status able = check_cross_encoder_call(batch, show != nullptr, encoder_.cls_alone());
    if (!able) return tl::unexpected(able.error());
    auto packed = pack_batch(batch, !show && shares_query(batch), encoder_.shape());
    if (!packed) return tl::unexpected(packed.error());
    const c10::InferenceMode no_graph;
    use_torch_threads(threads_);
    const auto stages = encoder_.stages_for(packed->layout);
    if (!stages) return tl::unexpected(stages.error());
    const auto states = encoder_.run(*stages, *packed, show);
    if (!states) return tl::unexpected(states.error());
    return head_.output_of(*states, packed->layout, stages->all->cls_index(), encoder_.cls_alone());
  }

 private:
  /// Mean pooling counts the query's tokens once per item, so they cannot be shared.
  [[nodiscard]] bool shares_query(const PairBatch& batch) const {
    return batch.one_query && !batch.items.empty() && !batch.items.front().query.empty() &&
           head_.config().reads_cls_alone() && encoder_.has_independent_queries();
  }

  [[nodiscard]] Result<Stages> stages_of(const PairBatch& batch) const {
    const auto layout = layout_of(batch, shares_query(batch));
    if (!layout) return tl::unexpected(layout.error());
    return encoder_.stages_for(*layout);
  }

  int threads_;
  ModernEncoder encoder_;
  ScoreHead head_;
};

class ModernTextEncoder final : public TextEncoder {
 public:
  ModernTextEncoder(const ModelWeights& weights, const ModelVariant& variant,
                    const Implementation& implementation, const Computing& computing)
      : encoder_(weights, variant, implementation, computing) {}

  Result<at::Tensor> states(const PackedBatch& packed, EncodedTexts texts) const override {
    const auto stages = stages_of(packed.layout, texts);
    if (!stages) return tl::unexpected(stages.error());
    return encoder_.run(*stages, packed);
  }
  Result<ModelWork> work(const SequenceLayout& layout, EncodedTexts texts) const override {
    return stages_of(layout, texts).map([&](const Stages& stages) {
      return encoder_.work(stages);
    });
  }
  Result<std::int64_t> peak_bytes(const SequenceLayout& layout, EncodedTexts texts) const override {
    return stages_of(layout, texts).map([&](const Stages& stages) {
      return encoder_.peak_bytes(stages);
    });
  }

 private:
  [[nodiscard]] Result<Stages> stages_of(const SequenceLayout& layout, EncodedTexts texts) const {
    return texts == EncodedTexts::queries ? encoder_.stages_for_queries(layout)
                                          : encoder_.stages_for(layout);
  }

  ModernEncoder encoder_;
};

/// A plain float64 implementation with the oracle's masks: the reference for every other
/// implementation. Rotary embeddings use the float32 angles of RotaryTable.
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

/// The last layer's states, [tokens, hidden].
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

class ModernEncoderFamily final : public EncoderFamily {
 public:
  at::Tensor reference_states(const ModelWeights& weights, const ModelVariant& variant,
                              const PackedBatch& packed, EncodedTexts texts) const override {
    if (texts == EncodedTexts::documents)
      return modern_bert_reference_states(weights, variant, packed);
    ModelVariant queries = variant;
    queries.pattern = query_pattern();
    queries.window.reset();
    if (queries.local && has_unseen_tokens(packed.layout))
      queries.local->pattern.item_hides_documents = true;
    return modern_bert_reference_states(weights, queries, packed);
  }

 protected:
  std::unique_ptr<TextEncoder> make(const ModelWeights& weights, const ModelVariant& variant,
                                    const Implementation& implementation,
                                    const Computing& computing) const override {
    return std::make_unique<ModernTextEncoder>(weights, variant, implementation, computing);
  }
};

class ModernBertFamily final : public Family {
 public:
  [[nodiscard]] const FamilyDescription& description() const override {
    return modern_bert_description();
  }
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return bert_implementations();
  }
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const override {
    Status all = supports_attention(variant, config.shape, implementation);
    if (!all || !variant.local) return all;
    return supports_attention(of_local_layers(variant), config.shape, implementation);
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    const c10::InferenceMode no_graph;
    const auto found = implementation_named(implementation);
    if (!found) return tl::unexpected(found.error());
    use_torch_threads(variant.threads);
    return std::make_unique<ModernBert>(*weights, variant, **found,
                                        computing_of(variant, weights->shape()));
  }
  [[nodiscard]] const EncoderFamily* encoders() const override {
    static const ModernEncoderFamily family;
    return &family;
  }
  [[nodiscard]] std::vector<std::string_view> shortcuts() const override {
    return {cls_only_last_layer};
  }
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const override {
    return modern_bert_reference(weights, variant, item, cls);
  }
  [[nodiscard]] double error_bound(DType dtype, const ModelShape& shape) const override {
    return bert_error_bound(dtype, shape);
  }
  /// Rotary embeddings have no table: the number of positions only reflects the training.
  [[nodiscard]] Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const override {
    ModelConfig config = weights->config();
    config.shape.positions = positions;
    return std::make_shared<const ModelWeights>(std::move(config), weights->tensors());
  }
};

}  // namespace

const Family& modern_bert_family() {
  static const ModernBertFamily family;
  return family;
}

}  // namespace attnscope
