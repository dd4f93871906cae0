// SPDX-License-Identifier: Apache-2.0
//
// BERT's cross-encoder on packed token groups: [CLS], query and document of every pair, without
// padding, with any of the listed attention implementations (Schlatt et al., ECIR 2024, Sec. 3).
// Computes scores from token ids; layout and plan are compiled once per call, for all layers. Also
// BERT's body as an encoder of single texts.
#include "engine/model/bert/bert_family.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/reference.h"
#include "engine/model/family.h"
#include "engine/model/score_head.h"
#include "engine/model/text_encoder.h"

namespace attnscope {

const FamilyDescription& bert_description();
const FamilyDescription& roberta_description();
const FamilyDescription& electra_description();
const FamilyDescription& distil_bert_description();
const FamilyDescription& lightning_ir_description();

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
    return stages_of(batch).map(
        [&](const BertEncoder::Stages& stages) { return encoder_.peak_bytes(stages); });
  }

  Result<ModelWork> work(const PairBatch& batch) const override {
    return stages_of(batch).map(
        [&](const BertEncoder::Stages& stages) { return encoder_.work(stages); });
  }

  Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    Status able = check_cross_encoder_call(batch, show != nullptr, last_ == LastLayer::cls_alone);
    if (!able) return tl::unexpected(able.error());
    auto packed = pack_batch(as_texts(batch), !show && shares_query(batch), shape_);
    if (!packed) return tl::unexpected(packed.error());
    const c10::InferenceMode no_graph;
    use_torch_threads(threads_);
    at::Tensor embedded = encoder_.embed(*packed);
    const auto stages = encoder_.stages(packed->layout, last_);
    if (!stages) return tl::unexpected(stages.error());
    const auto states = encoder_.run(*stages, std::move(embedded), show);
    if (!states) return tl::unexpected(states.error());
    return head_.output_of(*states, packed->layout, stages->front().stage->cls_index(),
                           last_ == LastLayer::cls_alone);
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

  [[nodiscard]] Result<BertEncoder::Stages> stages_of(const PairBatch& batch) const {
    const auto layout = layout_of(as_texts(batch), shares_query(batch));
    if (!layout) return tl::unexpected(layout.error());
    return encoder_.stages(*layout, last_);
  }

  ModelShape shape_;
  AttentionPattern pattern_;
  int threads_;
  LastLayer last_;
  bool is_one_text_;
  BertEncoder encoder_;
  ScoreHead head_;
};

/// The variant with the queries' attention in all layers.
ModelVariant for_queries(ModelVariant variant) {
  variant.pattern = query_pattern();
  variant.window.reset();
  variant.layer_windows.clear();
  return variant;
}

class BertTextEncoder final : public TextEncoder {
 public:
  BertTextEncoder(const ModelWeights& weights, const ModelVariant& variant,
                  const Implementation& implementation, const Computing& computing)
      : shape_(weights.shape()),
        queries_(for_queries(variant)),
        implementation_(implementation),
        encoder_(weights, variant, implementation, computing, /*splits_last=*/false) {}

  Result<at::Tensor> states(const PackedBatch& packed, EncodedTexts texts) const override {
    const auto stages = stages_of(packed.layout, texts);
    if (!stages) return tl::unexpected(stages.error());
    return encoder_.run(*stages, encoder_.embed(packed));
  }

  Result<ModelWork> work(const SequenceLayout& layout, EncodedTexts texts) const override {
    return stages_of(layout, texts).map([&](const BertEncoder::Stages& stages) {
      return encoder_.work(stages);
    });
  }

  Result<std::int64_t> peak_bytes(const SequenceLayout& layout, EncodedTexts texts) const override {
    return stages_of(layout, texts).map([&](const BertEncoder::Stages& stages) {
      return encoder_.peak_bytes(stages);
    });
  }

 private:
  [[nodiscard]] Result<BertEncoder::Stages> stages_of(const SequenceLayout& layout,
                                                      EncodedTexts texts) const {
    if (texts == EncodedTexts::documents) return encoder_.stages(layout, LastLayer::whole);
    auto stage = AttentionStage::make(queries_, shape_, implementation_, layout);
    if (!stage) return tl::unexpected(stage.error());
    BertEncoder::Stages staged;
    staged.push_back({encoder_.all_layers(), std::move(*stage)});
    return staged;
  }

  ModelShape shape_;
  ModelVariant queries_;  // stages refer to it
  const Implementation& implementation_;
  BertEncoder encoder_;
};

class BertEncoderFamily final : public EncoderFamily {
 public:
  at::Tensor reference_states(const ModelWeights& weights, const ModelVariant& variant,
                              const PackedBatch& packed, EncodedTexts texts) const override {
    const ModelVariant used = texts == EncodedTexts::queries ? for_queries(variant) : variant;
    return bert_reference_states(weights, used, packed);
  }

 protected:
  std::unique_ptr<TextEncoder> make(const ModelWeights& weights, const ModelVariant& variant,
                                    const Implementation& implementation,
                                    const Computing& computing) const override {
    return std::make_unique<BertTextEncoder>(weights, variant, implementation, computing);
  }
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
        "pattern '{}' computes global tokens with separate projections, which these weights do not "
        "have; use a Longformer checkpoint",
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

Result<std::unique_ptr<TextEncoder>> EncoderFamily::make_encoder(
    const ModelWeights& weights, const ModelVariant& variant,
    std::string_view implementation) const {
  const auto found = implementation_named(implementation);
  if (!found) return tl::unexpected(found.error());
  return make(weights, variant, **found, computing_of(variant, weights.shape()));
}

AttentionPattern query_pattern() {
  AttentionPattern pattern{.name = "query-expansion",
                           .title = "Expanded query",
                           .description = "Every token attends to [CLS] and query.",
                           .attends = {},
                           .sentence_every = {}};
  for (const TokenGroup from : {TokenGroup::cls, TokenGroup::query, TokenGroup::document}) {
    for (const TokenGroup to : {TokenGroup::cls, TokenGroup::query}) {
      pattern.attends[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)].kind =
          GroupRule::Kind::whole;
    }
  }
  return pattern;
}

bool has_unseen_tokens(const SequenceLayout& layout) {
  for (std::int64_t i = 0; i < layout.item_count(); ++i)
    if (layout.documents(i).size() > 0) return true;
  return false;
}

const EncoderFamily* BertLikeFamily::encoders() const {
  static const BertEncoderFamily family;
  return &family;
}

const Family& roberta_family() {
  static const BertLikeFamily family(roberta_description());
  return family;
}

const Family& electra_family() {
  static const BertLikeFamily family(electra_description());
  return family;
}

const Family& distil_bert_family() {
  static const BertLikeFamily family(distil_bert_description());
  return family;
}

const Family& lightning_ir_family() {
  static const BertLikeFamily family(lightning_ir_description());
  return family;
}

}  // namespace attnscope
