// SPDX-License-Identifier: Apache-2.0
//
// BERT's cross-encoder on packed token groups: [CLS], query and document of every pair, without
// padding, with any of the listed attention implementations (Schlatt et al., ECIR 2024, Sec. 3).
// Computes scores from token ids; layout and plan are compiled once per call, for all layers.

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/bert_like_family.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/reference.h"
#include "engine/model/family.h"
#include "engine/model/score_head.h"

namespace attnscope {

const FamilyDescription& bert_description();

namespace {

class CrossEncoder final : public Model {
 public:
  CrossEncoder(const ModelWeights& weights, const ModelVariant& variant,
               const Implementation& implementation, const Computing& computing)
      : shape_(weights.shape()),
        pattern_(variant.pattern),
        threads_(variant.threads),
        last_(variant.options.contains(cls_only_last_layer) ? LastLayer::cls_alone
                                                            : LastLayer::whole),
        is_one_text_(variant.options.contains(pair_is_one_text)),
        encoder_(weights, variant, implementation, computing, last_ == LastLayer::cls_alone),
        head_(weights, computing) {}

  Status supports(const PairBatch& batch) const override {
    const auto stages = stages_of(batch);
    return stages ? Status() : tl::unexpected(stages.error());
  }

  Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    const auto stages = stages_of(batch);
    if (!stages) return tl::unexpected(stages.error());
    std::int64_t peak = 0;
    for (const auto& [layers, stage] : *stages) peak = std::max(peak, encoder_.peak_bytes(*stage));
    return peak;
  }

  Result<ModelWork> work(const PairBatch& batch) const override {
    const auto stages = stages_of(batch);
    if (!stages) return tl::unexpected(stages.error());
    ModelWork sum;
    for (const auto& [layers, stage] : *stages) add(encoder_.work(*stage, layers), 1, sum);
    return sum;
  }

  Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    if (batch.documents != nullptr) {
      return fail("a cross-encoder reads query and document together, and takes no document cache");
    }
    if (show && last_ == LastLayer::cls_alone) {
      return fail(
          "what all tokens attend to in the last layer is not computed with {}; leave it out",
          cls_only_last_layer);
    }
    auto packed = pack_batch(as_texts(batch), !show && shares_query(batch), shape_);
    if (!packed) return tl::unexpected(packed.error());
    return run(*packed, show);
  }

 private:
  [[nodiscard]] PairBatch as_texts(PairBatch batch) const {
    batch.is_one_text = is_one_text_;
    return batch;
  }

  [[nodiscard]] bool shares_query(const PairBatch& batch) const {
    return !is_one_text_ && batch.one_query && !batch.items.empty() &&
           !batch.items.front().query.empty() && head_.config().reads_cls_alone() &&
           has_independent_query(pattern_);
  }

  [[nodiscard]] Result<std::vector<BertEncoder::Stretch>> stages_of(const PairBatch& batch) const {
    const auto layout = layout_of(as_texts(batch), shares_query(batch));
    if (!layout) return tl::unexpected(layout.error());
    return encoder_.stages(*layout, last_);
  }

  Result<ModelOutput> run(const PackedBatch& packed, const Show& show) {
    const c10::InferenceMode no_graph;
    use_torch_threads(threads_);
    at::Tensor states = encoder_.embed(packed);
    const auto stages = encoder_.stages(packed.layout, last_);
    if (!stages) return tl::unexpected(stages.error());
    for (const auto& [layers, stage] : *stages) {
      auto run = encoder_.run(*stage, std::move(states), layers, shown_of(*stage, show));
      if (!run) return tl::unexpected(run.error());
      states = std::move(*run);
    }
    at::Tensor pooled = states;
    if (last_ == LastLayer::whole) {
      pooled = head_.config().reads_cls_alone()
                   ? states.index_select(0, stages->front().stage->cls_index())
                   : pool(head_.config(), states, packed.layout);
    }
    return ModelOutput{.scores = floats_of(head_(pooled)), .states = floats_of(pooled)};
  }

  ModelShape shape_;
  AttentionPattern pattern_;
  int threads_;
  LastLayer last_;
  bool is_one_text_;
  BertEncoder encoder_;
  ScoreHead head_;
};

}  // namespace

std::vector<std::string_view> BertLikeFamily::implementations() const {
  return bert_implementations();
}

Status BertLikeFamily::supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const {
  return supports_attention(variant, config.shape, implementation);
}

Result<std::unique_ptr<Model>> BertLikeFamily::make(
    const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
    std::string_view implementation) const {
  const c10::InferenceMode no_graph;
  const auto found = implementation_named(implementation);
  if (!found) return tl::unexpected(found.error());
  if (variant.options.contains(with_global_projections) &&
      !weights->has(name_of_layer(0) + "attention.self.query_global.weight")) {
    return fail(
        "pattern '{}' computes global tokens with projections of their own, and these weights have "
        "none; take a Longformer's checkpoint",
        variant.pattern.name);
  }
  use_torch_threads(variant.threads);
  return std::make_unique<CrossEncoder>(*weights, variant, **found,
                                        computing_of(variant, weights->shape()));
}

std::vector<std::string_view> BertLikeFamily::shortcuts() const {
  return {cls_only_last_layer, recomputed_layers};
}

Result<ReferenceOutput> BertLikeFamily::reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const {
  return bert_reference(weights, variant, item, cls);
}

double BertLikeFamily::error_bound(DType dtype, const ModelShape& shape) const {
  return bert_error_bound(dtype, shape);
}

Result<std::shared_ptr<const ModelWeights>> BertLikeFamily::extended_to(
    const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const {
  return with_positions(*weights, positions);
}

const Family& bert_family() {
  static const BertLikeFamily family(bert_description());
  return family;
}

}  // namespace attnscope
