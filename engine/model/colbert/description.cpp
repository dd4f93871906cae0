// SPDX-License-Identifier: Apache-2.0
//
// ColBERT (Khattab and Zaharia, SIGIR 2020) as implemented for the MixEncoder paper.
#include <algorithm>
#include <array>

#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/family_description.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

/// ASCII's 32 punctuation characters in bert-base-uncased's vocabulary, where single characters are
/// in the order of their codes, with digits and letters between.
std::vector<std::int64_t> punctuation_of_bert() {
  struct IdRange {
    std::int64_t first, last;
  };
  constexpr std::array ranges{IdRange{999, 1013}, IdRange{1024, 1036}, IdRange{1063, 1066}};
  std::vector<std::int64_t> ids;
  for (const IdRange& range : ranges)
    for (std::int64_t id = range.first; id <= range.last; ++id) ids.push_back(id);
  return ids;
}

class ColbertDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "colbert"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_vectors; }
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const override {
    return shown_matches();
  }

 protected:
  [[nodiscard]] std::string_view body_prefix() const override { return "bert."; }
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Each query token is matched with the most similar document token; 128 "
                        "numbers are kept per token."}};
  }
  [[nodiscard]] std::any own_of(const ModelShape& /*shape*/) const override {
    return ColbertConfig{.punctuation = punctuation_of_bert()};
  }
  void read_own(const JsonField& config, ModelConfig& model) const override {
    ColbertConfig own{.punctuation = punctuation_of_bert()};
    if (const auto dim = config.present("output_dim")) own.dim = dim->whole(1, most_width);
    if (const auto list = config.present("punctuation_ids")) {
      own.punctuation.clear();
      for (const JsonField& field : list->elements())
        own.punctuation.push_back(field.whole(0, model.shape.vocabulary - 1));
      std::ranges::sort(own.punctuation);
    }
    model.own = std::move(own);
  }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    append_matrix(colbert_linear, std::any_cast<const ColbertConfig&>(config.own).dim,
                  config.shape.hidden, specs);
  }
};

}  // namespace

const FamilyDescription& colbert_description() {
  static const ColbertDescription description;
  return description;
}

// ColBERT (Khattab and Zaharia, SIGIR 2020) as published: a head that computes a vector for every
// token, on the body of another family. engine/checkpoint/sentence_files.h reads its files.

namespace {

class MultiVectorDescription final : public FamilyDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return multi_vector_id; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_vectors; }
  /// The shown rows are the query's vectors, so every token needs one.
  [[nodiscard]] ShownTokens shows(const ModelConfig& config,
                                  const ModelOptions& /*options*/) const override {
    const auto& max_sim = config.head.max_sim;
    if (max_sim && (max_sim->skips_queries || !max_sim->expansion_scores)) return {.some = false};
    return shown_matches();
  }

  /// None: the body has a model type, and other files describe the head.
  [[nodiscard]] std::vector<std::string_view> model_types() const override { return {}; }
  [[nodiscard]] ModelConfig read_config(const JsonField& /*config*/,
                                        std::string_view model_type) const override {
    throw JsonProblem{
        {fmt::format("'{}' is not a model type of a config.json", in_a_sentence(model_type))}};
  }
  void take_sizes(ModelConfig& config, const TensorViews& files) const override {
    if (!config.body) return;
    ModelConfig body = *config.body;
    body.family->take_sizes(body, files);
    config.shape = body.shape;
    config.body = std::make_shared<const ModelConfig>(std::move(body));
  }
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const override {
    if (!config.body) return {};
    ModelTensors found = config.body->family->tensors(*config.body, files);
    append_head(config.head, "", found.specs);
    found.gives_scores = true;
    return found;
  }
  [[nodiscard]] bool leaves_out(const ModelConfig& config, std::string_view name) const override {
    return config.body && config.body->family->leaves_out(*config.body, name);
  }

  /// None: it requires a checkpoint, and ColBERT's row represents the costs of such a model.
  [[nodiscard]] std::vector<FamilyChoice> rows() const override { return {}; }
  [[nodiscard]] std::vector<FamilyChoice> row_options() const override { return {}; }
  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> /*options*/) const override {
    return fail("'{}' is not a row: the row 'colbert' has the cost of such models",
                in_a_sentence(name));
  }
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> /*rows*/) const override {
    return {.family = this, .shape = shape};
  }
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& /*config*/,
                                                 const AttentionPattern& /*pattern*/,
                                                 ModelOptions requested) const override {
    if (requested.empty()) return requested;
    return fail("there is no option '{}' for models of the family {}, which has none",
                in_a_sentence(*requested.begin()), id());
  }
};

}  // namespace

const FamilyDescription& multi_vector_description() {
  static const MultiVectorDescription description;
  return description;
}

}  // namespace attnscope
