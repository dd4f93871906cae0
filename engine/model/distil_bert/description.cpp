// SPDX-License-Identifier: Apache-2.0
//
// DistilBERT (Sanh et al., 2019) as a sequence classifier: BERT's layers with other names, no token
// types, and a head with ReLU.
#include <fmt/format.h>

#include <algorithm>

#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/bert_like.h"

namespace attnscope {
namespace {

constexpr std::string_view body = "distilbert.";

class DistilBertDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "distilbert"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"distilbert"};
  }
  [[nodiscard]] bool reads_token_types() const override { return false; }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    ModelConfig model;
    model.architecture = read_architecture(config);
    must_state(config, "activation", "gelu");
    ModelShape& shape = model.shape;
    shape = bert_base;
    constexpr std::int64_t usual_layers = 6;
    shape.layers = size_or(config, "n_layers", usual_layers, most_layers);
    shape.hidden = size_or(config, "dim", shape.hidden, most_width);
    shape.heads = size_or(config, "n_heads", shape.heads, most_width);
    shape.feed_forward = size_or(config, "hidden_dim", shape.feed_forward, most_width);
    shape.vocabulary = size_or(config, "vocab_size", shape.vocabulary, most_rows);
    shape.positions = size_or(config, "max_position_embeddings", shape.positions, most_rows);
    shape.types = 0;
    if (shape.hidden % shape.heads != 0) {
      config.wrong(fmt::format("has a 'dim' of {}, which its {} heads do not divide", shape.hidden,
                               shape.heads));
    }
    model.own = BertConfig{.body = "distilbert"};
    model.head = classifier_head(
        {.pooler = "pre_classifier", .activation = HeadActivation::relu, .hidden = shape.hidden});
    model.head.stated_labels = stated_labels(config);
    return model;
  }

  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const override {
    ModelTensors found = BertLikeDescription::tensors(config, nullptr);
    const auto prefixed = [&](const TensorViews& all) {
      const auto first = all.lower_bound(body);
      return first != all.end() && first->first.starts_with(body);
    };
    const std::string prefix(files == nullptr || prefixed(*files) ? body : "");
    std::vector<TensorSpec> specs;
    for (TensorSpec& spec : found.specs) {
      if (spec.name.starts_with("embeddings.token_type_embeddings")) continue;
      const bool in_body =
          spec.name.starts_with("embeddings.") || spec.name.starts_with("encoder.");
      if (in_body) spec.in_file = prefix + name_in_files(spec.name);
      specs.push_back(std::move(spec));
    }
    found.specs = std::move(specs);
    if (files == nullptr) return found;
    found.gives_scores = config.head.needed || has_head(config.head, *files) ||
                         config.architecture.ends_with("ForSequenceClassification");
    if (found.gives_scores) return found;
    std::erase_if(found.specs, [](const TensorSpec& spec) {
      return !spec.name.starts_with("embeddings.") && !spec.name.starts_with("encoder.");
    });
    return found;
  }

 private:
  static std::string name_in_files(std::string name) {
    struct Renamed {
      std::string_view ours, theirs;
    };
    for (const Renamed& part :
         {Renamed{"encoder.layer.", "transformer.layer."},
          Renamed{"attention.self.query", "attention.q_lin"},
          Renamed{"attention.self.key", "attention.k_lin"},
          Renamed{"attention.self.value", "attention.v_lin"},
          Renamed{"attention.output.dense", "attention.out_lin"},
          Renamed{"attention.output.LayerNorm", "sa_layer_norm"},
          Renamed{"intermediate.dense", "ffn.lin1"}, Renamed{".output.dense", ".ffn.lin2"},
          Renamed{".output.LayerNorm", ".output_layer_norm"}}) {
      if (const std::size_t at = name.find(part.ours); at != std::string::npos)
        name.replace(at, part.ours.size(), part.theirs);
    }
    return name;
  }
};

}  // namespace

const FamilyDescription& distil_bert_description() {
  static const DistilBertDescription description;
  return description;
}

}  // namespace attnscope
