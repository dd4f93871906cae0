// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of BERT and derived models (the sparse cross-encoders of Schlatt et al., Longformer,
// RoBERTa, XLM-RoBERTa, ELECTRA, DistilBERT): config.json, and Hugging Face's tensor names. A
// setting with which scores would differ from BERT's is an error.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/family_description.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/model/bert/bert_description.h"

namespace attnscope {
namespace {

// In the sparse cross-encoder's training, queries were truncated to 32 tokens including [CLS],
// which is not part of a query here.
constexpr std::int64_t sparse_query_tokens = 31;

/// The attention that `attnscope train` stored; it takes precedence over the file's other fields.
void read_trained_attention(const JsonField& config, ModelConfig& model) {
  const auto own = config.present(trained_attention_field);
  if (!own) return;
  own->only({"pattern", "window", "most_query_tokens", "pair_is_one_text"});
  if (const auto limit = own->member("most_query_tokens"))
    model.most_query_tokens = limit->whole(0, most_rows);
  // Trained with a pattern from a file, which has to be given again.
  if (!own->member("pattern")) return;
  const std::string name = (*own)["pattern"].text();
  const auto& known = built_in_patterns();
  const auto pattern = std::ranges::find(known, name, &AttentionPattern::name);
  if (pattern == known.end()) (*own)["pattern"].must_be("the name of a built-in pattern");
  model.pattern = name;
  model.window.reset();
  model.layer_windows.clear();
  model.own_options.clear();
  if (own->truth_or("pair_is_one_text", false)) model.own_options.emplace(pair_is_one_text);
  if (pattern->has_window()) model.window = window_in((*own)["window"]);
}

/// Which groups attend to which, in the fields of the sparse cross-encoders of Schlatt et al.
struct GroupFlags {
  bool cls_query = true, cls_document = true;
  bool query_cls = true, query_document = true;
  bool document_cls = true, document_query = true;
  [[nodiscard]] bool others_see_all() const {
    return cls_query && cls_document && document_cls && document_query;
  }
};

GroupFlags read_groups(const JsonField& config) {
  return {.cls_query = read_flag(config, "cls_query_attention", true),
          .cls_document = read_flag(config, "cls_doc_attention", true),
          .query_cls = read_flag(config, "query_cls_attention", true),
          .query_document = read_flag(config, "query_doc_attention", true),
          .document_cls = read_flag(config, "doc_cls_attention", true),
          .document_query = read_flag(config, "doc_query_attention", true)};
}

/// BERT's full attention, or the sparse cross-encoder's.
void read_bert_attention(const JsonField& config, ModelConfig& model) {
  const GroupFlags groups = read_groups(config);
  std::optional<Window> window;
  if (const auto size = config.present("attention_window_size")) {
    window = Window::of(size->whole(0, most_rows));
  }
  const bool query_alone = !groups.query_cls && !groups.query_document;
  const bool query_sees_all = groups.query_cls && groups.query_document;
  if (!groups.others_see_all() || !(query_alone || query_sees_all)) {
    config.wrong(
        "disables attention between other groups than from the query to [CLS] and from the query "
        "to the document; only sparse cross-encoders that disable exactly these two are supported");
  }
  if (query_sees_all && !window) return;
  model.pattern = query_alone ? "sparse" : "sparse-without-independent-query";
  model.window = window.value_or(Window::infinite());
  model.most_query_tokens = sparse_query_tokens;
}

/// 'attention_window' is the sum of both sides: one number, or one per layer.
void read_longformer_attention(const JsonField& config, ModelConfig& model) {
  constexpr std::int64_t usual = 512;
  const auto field = config.present("attention_window");
  if (!field) model.layer_windows.push_back(Window::of(usual / 2));
  for (const JsonField& window : field ? field->one_or_more() : std::vector<JsonField>()) {
    const std::int64_t both_sides = window.whole(2, most_rows);
    if (both_sides % 2 != 0) window.wrong("is odd; it counts both sides of a token");
    model.layer_windows.push_back(Window::of(both_sides / 2));
  }
  if (field && field->is_list() &&
      static_cast<std::int64_t>(model.layer_windows.size()) != model.shape.layers) {
    field->wrong(fmt::format("has {} windows, and there are {} layers", model.layer_windows.size(),
                             model.shape.layers));
  }
  model.window = model.layer_windows.front();
  const bool differ = std::ranges::any_of(
      model.layer_windows, [&](const Window& window) { return window != *model.window; });
  if (!differ) model.layer_windows.clear();
  model.pattern = "longformer";
  model.own_options.emplace(pair_is_one_text);
  skip_padding_positions(config, model.shape);
}

/// A row in a sweep that is not a pattern: `sparse` computed without special kernels, as in the
/// paper's row of that name.
constexpr std::string_view row_without_kernel = "sparse-without-kernel";

/// Whether some groups of the pattern attend to all tokens and are attended to by all.
bool has_global_groups(std::string_view pattern) {
  return pattern == "longformer" || pattern == "qds";
}

/// The tensor names of a model in some files: all names except the head's may have a prefix.
class BertTensors {
 public:
  BertTensors(const ModelConfig& config, const TensorViews* files)
      : config_(config), own_(std::any_cast<const BertConfig&>(config.own)), files_(files) {
    const std::string prefix = fmt::format("{}.", own_.body);
    if (files == nullptr) return;
    const auto first = files->lower_bound(prefix);
    if (first != files->end() && first->first.starts_with(prefix)) prefix_ = prefix;
  }

  ModelTensors all() && {
    const ModelShape& shape = config_.shape;
    append_bert_body(shape, prefix_, found_.specs);
    add_head();
    // Listed last, so that random weights are equal with and without them.
    for (std::int64_t layer = 0; own_.global_projections && layer < shape.layers; ++layer) {
      for (const char* part : {"query_global", "key_global", "value_global"}) {
        const std::string name = fmt::format("encoder.layer.{}.attention.self.{}", layer, part);
        append_linear(name, prefix_ + name, shape.hidden, shape.hidden, found_.specs);
      }
    }
    return std::move(found_);
  }

 private:
  void add_head() {
    const HeadConfig& head = config_.head;
    found_.gives_scores = files_ == nullptr || head.needed || has_head(head, *files_) ||
                          config_.architecture.ends_with("ForSequenceClassification");
    HeadConfig present = head;
    // A pooler without a classifier is the initial state of a training.
    if (!found_.gives_scores) {
      std::erase_if(present.steps, [&](const HeadStep& step) {
        return !step.in_body || !files_->contains(prefix_ + step.in_file + ".weight");
      });
    }
    append_head(present, prefix_, found_.specs);
  }

  const ModelConfig& config_;
  const BertConfig& own_;
  const TensorViews* files_;
  std::string prefix_;
  ModelTensors found_;
};

class BertDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "bert"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"bert", "longformer"};
  }

  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view model_type) const override {
    const bool is_longformer = model_type == "longformer";
    ModelConfig model;
    model.architecture = read_architecture(config);
    check_bert_computation(config);
    model.shape = bert_base;
    read_bert_shape(config, model.shape);
    if (is_longformer) {
      read_longformer_attention(config, model);
    } else {
      read_bert_attention(config, model);
    }
    read_trained_attention(config, model);
    model.own =
        is_longformer ? BertConfig{.body = "longformer", .global_projections = true} : BertConfig{};
    const std::int64_t hidden = model.shape.hidden;
    model.head =
        classifier_head(is_longformer ? ClassifierNames{.pooler = "classifier.dense",
                                                        .classifier = "classifier.out_proj",
                                                        .hidden = hidden}
                                      : ClassifierNames{.pooler_in_body = true, .hidden = hidden});
    model.head.stated_labels = stated_labels(config);
    return model;
  }

  /// Longformer's encoder without a head has no global tokens.
  void become_encoder(ModelConfig& config) const override {
    if (config.pattern != "longformer") return;
    config.pattern = "sliding-window";
    config.own_options.clear();
    std::any_cast<BertConfig&>(config.own).global_projections = false;
  }

  [[nodiscard]] std::vector<FamilyChoice> rows() const override {
    return {{.name = row_without_kernel,
             .summary = "The pattern sparse, computed by an implementation for other patterns, "
                        "such as longformer-chunks.",
             .pattern = "sparse"}};
  }
  [[nodiscard]] std::vector<FamilyChoice> row_options() const override {
    return {
        {.name = cls_only_last_layer, .summary = "The last layer computes only what [CLS] needs."},
        {.name = recomputed_layers,
         .summary =
             "In training, layers keep only their input and are recomputed in the backward pass."},
        {.name = bfloat16_products,
         .summary = "Linear layers multiply in bfloat16; for models in float32 on the CPU."},
        {.name = int8_products,
         .summary = "Linear layers multiply in int8; for models in float32 on the CPU."}};
  }

  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> options) const override {
    ModelRow row{.family = this,
                 .name = std::string(name),
                 .pattern = std::string(name == row_without_kernel ? "sparse" : name),
                 .weights = std::string(id())};
    if (has_global_groups(name)) row.options.emplace(with_global_projections);
    const std::vector<FamilyChoice> known = row_options();
    for (const std::string_view option : options) {
      if (std::ranges::find(known, option, &FamilyChoice::name) == known.end() ||
          !row.options.emplace(option).second) {
        return fail(
            "has the options '+{}'; '+{}', '+{}', '+{}' and '+{}' are possible, each at most once",
            in_a_sentence(fmt::format("{}", fmt::join(options, "+"))), known[0].name, known[1].name,
            known[2].name, known[3].name);
      }
    }
    for (const auto& [first, second] :
         {std::pair(bfloat16_products, int8_products), std::pair(recomputed_layers, int8_products),
          std::pair(recomputed_layers, bfloat16_products)}) {
      if (!row.options.contains(first) || !row.options.contains(second)) continue;
      return fail("has the options '+{}' and '+{}', which contradict each other; give only one",
                  first, second);
    }
    return row;
  }

  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const override {
    const bool global = std::ranges::any_of(
        rows, [](const ModelRow& row) { return row.options.contains(with_global_projections); });
    return {.family = this,
            .shape = shape,
            .head = classifier_head({.pooler_in_body = true, .hidden = shape.hidden}),
            .own = BertConfig{.global_projections = global}};
  }

  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions requested) const override {
    const bool one_text = requested.erase(std::string(pair_is_one_text)) > 0;
    auto options = BertLikeDescription::options_for(config, pattern, std::move(requested));
    if (options && one_text) options->emplace(pair_is_one_text);
    if (options && std::any_cast<const BertConfig&>(config.own).global_projections &&
        has_global_groups(pattern.name)) {
      options->emplace(with_global_projections);
    }
    return options;
  }
};

/// RoBERTa (Liu et al., 2019) and XLM-RoBERTa (Conneau et al., ACL 2020) as sequence classifiers:
/// BERT's layers, positions that begin after that of padding, one token type, a two-layer head.
class RobertaDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "roberta"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"roberta", "xlm-roberta"};
  }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view model_type) const override {
    return read_classifier(config, "roberta", model_type == "roberta" ? roberta_base : bert_base,
                           {.pooler = "classifier.dense", .classifier = "classifier.out_proj"},
                           &skip_padding_positions);
  }
};

/// ELECTRA (Clark et al., ICLR 2020) as a sequence classifier: BERT's body, embeddings that may be
/// narrower than the layers and are then projected to their width, and a head with gelu.
class ElectraDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "electra"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override { return {"electra"}; }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    return read_classifier(config, "electra", electra_small,
                           {.pooler = "classifier.dense",
                            .activation = HeadActivation::gelu,
                            .classifier = "classifier.out_proj"},
                           &read_embedding_width);
  }
};

constexpr std::string_view distil_bert_prefix = "distilbert.";

/// DistilBERT (Sanh et al., 2019) as a sequence classifier: BERT's layers with other names, no
/// token types, and a head with ReLU.
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
      const auto first = all.lower_bound(distil_bert_prefix);
      return first != all.end() && first->first.starts_with(distil_bert_prefix);
    };
    const std::string prefix(files == nullptr || prefixed(*files) ? distil_bert_prefix : "");
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

void skip_padding_positions(const JsonField& config, ModelShape& shape) {
  const auto padding = config.member("pad_token_id");
  if (padding && padding->is_null()) {
    padding->wrong(
        "is null, and positions are counted from it; set it to the id of the padding token");
  }
  shape.first_position = (padding ? padding->whole(0, most_rows) : 1) + 1;
  shape.positions -= shape.first_position;
  if (shape.positions <= 0) {
    config["max_position_embeddings"].wrong("leaves no position after that of padding");
  }
}

std::string read_architecture(const JsonField& config) {
  const auto list = config.present("architectures");
  if (!list || list->elements().empty()) return {};
  std::string architecture = list->elements().front().text();
  for (const std::string_view known :
       {"ForSequenceClassification", "Model", "ForMaskedLM", "ForPreTraining", "HF_ColBERT"}) {
    if (architecture.ends_with(known)) return architecture;
  }
  list->wrong(fmt::format(
      "is '{}'; only classes for sequence classification and encoders without a head are supported",
      in_a_sentence(architecture)));
}

std::optional<std::int64_t> stated_labels(const JsonField& config) {
  constexpr std::int64_t most_labels = 10'000;
  if (const auto count = config.present("num_labels")) return count->whole(1, most_labels);
  if (const auto names = config.present("id2label"))
    return static_cast<std::int64_t>(names->members().size());
  return std::nullopt;
}

ModelConfig read_classifier(const JsonField& config, std::string_view body, const ModelShape& usual,
                            ClassifierNames head, void (*adjust)(const JsonField&, ModelShape&)) {
  ModelConfig model{.shape = usual};
  model.architecture = read_architecture(config);
  check_bert_computation(config);
  read_bert_shape(config, model.shape);
  adjust(config, model.shape);
  read_trained_attention(config, model);
  model.own = BertConfig{.body = body};
  head.hidden = model.shape.hidden;
  model.head = classifier_head(head);
  model.head.stated_labels = stated_labels(config);
  return model;
}

ModelTensors BertLikeDescription::tensors(const ModelConfig& config,
                                          const TensorViews* files) const {
  return BertTensors(config, files).all();
}

bool BertLikeDescription::leaves_out(const ModelConfig& config, std::string_view name) const {
  for (const std::string_view buffer : {"embeddings.position_ids", "embeddings.token_type_ids"}) {
    if (name == buffer || name.ends_with(fmt::format(".{}", buffer))) return true;
  }
  for (const std::string_view head :
       {"cls.predictions.", "cls.seq_relationship.", "lm_head.", "discriminator_predictions.",
        "vocab_transform.", "vocab_layer_norm.", "vocab_projector."}) {
    if (name.starts_with(head)) return true;
  }
  const auto& own = std::any_cast<const BertConfig&>(config.own);
  return name.starts_with("pooler.") || name.starts_with(fmt::format("{}.pooler.", own.body));
}

Result<ModelRow> BertLikeDescription::row(std::string_view name,
                                          std::span<const std::string_view> /*options*/) const {
  return fail("'{}' is not a row: models of the family {} cost as much as BERT's",
              in_a_sentence(name), id());
}

ModelConfig BertLikeDescription::config_for(const ModelShape& shape,
                                            std::span<const ModelRow> /*rows*/) const {
  return {.family = this,
          .shape = shape,
          .head = classifier_head({.pooler_in_body = true, .hidden = shape.hidden}),
          .own = BertConfig{}};
}

Result<ModelOptions> BertLikeDescription::options_for(const ModelConfig& config,
                                                      const AttentionPattern& /*pattern*/,
                                                      ModelOptions requested) const {
  for (const std::string& option : requested) {
    if (option != cls_only_last_layer) {
      return fail("a model has no option '{}'; its only option is '{}'", in_a_sentence(option),
                  cls_only_last_layer);
    }
    if (!config.head.reads_cls_alone()) {
      return fail(
          "'{}' is for models that compute the score from [CLS]; this model pools all tokens",
          cls_only_last_layer);
    }
  }
  return requested;
}

const FamilyDescription& bert_description() {
  static const BertDescription description;
  return description;
}

const FamilyDescription& roberta_description() {
  static const RobertaDescription description;
  return description;
}

const FamilyDescription& electra_description() {
  static const ElectraDescription description;
  return description;
}

const FamilyDescription& distil_bert_description() {
  static const DistilBertDescription description;
  return description;
}

}  // namespace attnscope
