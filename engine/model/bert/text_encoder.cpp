// SPDX-License-Identifier: Apache-2.0
//
// BERT's body as an encoder of single texts.
#include "engine/model/text_encoder.h"

#include <algorithm>
#include <utility>

#include "engine/attention/list.h"
#include "engine/model/bert/bert_like_family.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/reference.h"

namespace attnscope {
namespace {

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
    at::Tensor states = encoder_.embed(packed);
    for (const auto& [layers, stage] : *stages) {
      auto run = encoder_.run(*stage, std::move(states), layers);
      if (!run) return run;
      states = std::move(*run);
    }
    return states;
  }

  Result<ModelWork> work(const SequenceLayout& layout, EncodedTexts texts) const override {
    const auto stages = stages_of(layout, texts);
    if (!stages) return tl::unexpected(stages.error());
    ModelWork sum;
    for (const auto& [layers, stage] : *stages) add(encoder_.work(*stage, layers), 1, sum);
    return sum;
  }

  Result<std::int64_t> peak_bytes(const SequenceLayout& layout, EncodedTexts texts) const override {
    const auto stages = stages_of(layout, texts);
    if (!stages) return tl::unexpected(stages.error());
    std::int64_t peak = 0;
    for (const auto& [layers, stage] : *stages) peak = std::max(peak, encoder_.peak_bytes(*stage));
    return peak;
  }

 private:
  [[nodiscard]] Result<std::vector<BertEncoder::Stretch>> stages_of(const SequenceLayout& layout,
                                                                    EncodedTexts texts) const {
    if (texts == EncodedTexts::documents) return encoder_.stages(layout, LastLayer::whole);
    auto stage = AttentionStage::make(queries_, shape_, implementation_, layout);
    if (!stage) return tl::unexpected(stage.error());
    std::vector<BertEncoder::Stretch> stretches;
    stretches.push_back({encoder_.all_layers(), std::move(*stage)});
    return stretches;
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
                           .description = "Every token sees [CLS] and query.",
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

}  // namespace attnscope
