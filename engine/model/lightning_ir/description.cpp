// SPDX-License-Identifier: Apache-2.0
//
// Lightning IR's cross-encoders. Mono (Schlatt et al., SIGIR 2025; monoelectra): the body of BERT
// or ELECTRA without a prefix, and a single layer `linear` on [CLS]; queries and documents are
// truncated separately. Set-Encoders (Schlatt et al., ECIR 2025): a mono cross-encoder whose
// documents attend to [CLS], or to the following interaction token, of the query's other documents.
// In training, missing documents up to a depth are sampled randomly; here the set is the given
// documents.
#include <algorithm>
#include <array>

#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_description.h"

namespace attnscope {
namespace {

/// Reads the maximum number of tokens of a text; its [SEP] adds one. null: no separate limit.
void read_limit(const JsonField& config, std::string_view name, std::int64_t usual,
                std::int64_t& tokens) {
  const auto field = config.member(name);
  if (field && field->is_null()) return;
  tokens = (field ? field->whole(1, most_rows) : usual) + 1;
}

/// Reads the pooling strategy and the layers that compute scores from the pooled state.
HeadConfig read_mono_head(const JsonField& config, std::int64_t hidden) {
  constexpr std::array<std::string_view, 5> strategies{"first", "mean", "max", "sum", "bert_pool"};
  constexpr std::array poolings{Pooling::cls, Pooling::mean, Pooling::max, Pooling::sum,
                                Pooling::cls};
  const auto strategy = config.present("pooling_strategy");
  const std::size_t place = strategy ? strategy->one_of(strategies, "pooling strategy") : 0;
  const bool bert_pool = strategies[place] == "bert_pool" || read_flag(config, "_bert_pool", false);
  HeadConfig head = classifier_head({.pooler = bert_pool ? "bert_pool.0" : "",
                                     .classifier = "linear",
                                     .bias = read_flag(config, "linear_bias", false),
                                     .hidden = hidden});
  head.pooling = {poolings[place]};
  head.needed = true;
  constexpr std::array<std::string_view, 2> scorings{"rank", "mono"};
  const auto scoring = config.present("scoring_strategy");
  const bool is_mono = scoring && scorings[scoring->one_of(scorings, "scoring strategy")] == "mono";
  head.stated_labels = is_mono ? 2 : 1;
  if (is_mono) head.label = {.kind = LabelChoice::Kind::log_softmax, .label = 1};
  return head;
}

/// ModelConfig::own is a BertConfig.
ModelConfig read_mono_config(const JsonField& config) {
  ModelConfig model;
  const JsonField backbone = needed(config, "backbone_model_type");
  const bool is_electra = backbone.text() == "electra";
  if (!is_electra && backbone.text() != "bert") {
    backbone.wrong(fmt::format("is '{}'; only cross-encoders on 'bert' and 'electra' are supported",
                               in_a_sentence(backbone.text())));
  }
  check_bert_computation(config);
  model.shape = is_electra ? electra_small : bert_base;
  read_bert_shape(config, model.shape);
  if (is_electra) read_embedding_width(config, model.shape);
  if (read_flag(config, "use_adapter", false)) {
    config["use_adapter"].wrong("is true; merge the adapter into the weights first");
  }
  read_limit(config, "query_length", 32, model.most_query_tokens);
  read_limit(config, "doc_length", 512, model.most_document_tokens);
  model.own = BertConfig{.body = is_electra ? "electra" : "bert"};
  model.head = read_mono_head(config, model.shape.hidden);
  return model;
}

class LightningIrDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "lightning-ir"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"mono", "cross-encoder"};
  }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    return read_mono_config(config);
  }
};

class SetEncoderDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "set-encoder"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"set-encoder"};
  }
  [[nodiscard]] bool is_listwise() const override { return true; }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    ModelConfig model = read_mono_config(config);
    std::any_cast<BertConfig&>(model.own).interaction_token =
        read_flag(config, "add_extra_token", false);
    return model;
  }
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions requested) const override {
    auto options = BertLikeDescription::options_for(config, pattern, std::move(requested));
    if (!options) return options;
    options->emplace(sees_other_documents);
    if (std::any_cast<const BertConfig&>(config.own).interaction_token)
      options->emplace(by_interaction_token);
    return options;
  }
};

}  // namespace

const FamilyDescription& lightning_ir_description() {
  static const LightningIrDescription description;
  return description;
}

const FamilyDescription& set_encoder_description() {
  static const SetEncoderDescription description;
  return description;
}

}  // namespace attnscope
