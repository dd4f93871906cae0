// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/trained_config.h"

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

/// In the fields of the sparse cross-encoders' code (Schlatt et al., ECIR 2024).
void say_groups(ordered_json& config, const TrainedAttention& attention) {
  const bool is_sparse = attention.pattern == "sparse";
  if (!is_sparse && attention.pattern != "sparse-without-independent-query") return;
  if (attention.window && !attention.window->is_infinite())
    config["attention_window_size"] = attention.window->tokens();
  for (const char* flag :
       {"cls_query_attention", "cls_doc_attention", "doc_cls_attention", "doc_query_attention"}) {
    config[flag] = true;
  }
  for (const char* flag : {"query_cls_attention", "query_doc_attention"}) config[flag] = !is_sparse;
}

/// The window as transformers reads it: both sides of a token together, and at least one token on
/// each. In transformers only [CLS] is global; other models of the pattern cannot be expressed.
void say_longformer_window(ordered_json& config, const TrainedAttention& attention) {
  if (attention.pattern != "longformer" || !attention.is_one_text || !attention.window ||
      attention.window->is_infinite() || attention.window->tokens() < 1) {
    return;
  }
  const auto layers = config.value("num_hidden_layers", std::size_t{0});
  config["attention_window"] = std::vector<std::int64_t>(layers, 2 * attention.window->tokens());
}

/// The fields that this project reads.
void say_own(ordered_json& config, const TrainedAttention& attention) {
  const std::string field(trained_attention_field);
  config.erase(field);
  if (!attention.pattern.empty()) {
    ordered_json& own = config[field];
    own["pattern"] = attention.pattern;
    if (attention.window) own["window"] = attention.window->text();
    own["most_query_tokens"] = attention.most_query_tokens;
    if (attention.is_one_text) own["pair_is_one_text"] = true;
  } else if (attention.most_query_tokens > 0) {
    config[field] = {{"most_query_tokens", attention.most_query_tokens}};
  }
}

/// Settings of a classifier with one label.
void say_classifier(ordered_json& config, const char* architecture) {
  config["architectures"] = {architecture};
  config["id2label"] = {{"0", "LABEL_0"}};
  config["label2id"] = {{"LABEL_0", 0}};
  config["dtype"] = "float32";
}

}  // namespace

Result<std::string> trained_config(std::string_view config, const TrainedAttention& attention) {
  ordered_json trained = parse_ordered_json(config);
  if (!trained.is_object()) return fail("config.json: is not a JSON object");
  const bool is_longformer = trained.value("model_type", "") == "longformer";
  for (const char* field :
       {"attention_window_size", "cls_query_attention", "cls_doc_attention", "query_cls_attention",
        "query_doc_attention", "doc_cls_attention", "doc_query_attention", "num_labels"}) {
    trained.erase(field);
  }
  trained.erase("torch_dtype");
  say_classifier(trained, is_longformer ? "LongformerForSequenceClassification"
                                        : "BertForSequenceClassification");
  if (attention.positions > 0) {
    // Longformer's table begins with padding rows.
    const std::int64_t before =
        is_longformer ? trained.value("pad_token_id", std::int64_t{1}) + 1 : 0;
    trained["max_position_embeddings"] = attention.positions + before;
  }
  say_groups(trained, attention);
  if (is_longformer) say_longformer_window(trained, attention);
  say_own(trained, attention);
  trained.erase("attnscope_begun_from");
  if (!attention.begun_from.empty()) trained["attnscope_begun_from"] = attention.begun_from;
  return trained.dump(2) + "\n";
}

std::string classifier_config(const ModelShape& shape) {
  ordered_json config = {{"model_type", "bert"},
                         {"vocab_size", shape.vocabulary},
                         {"hidden_size", shape.hidden},
                         {"num_hidden_layers", shape.layers},
                         {"num_attention_heads", shape.heads},
                         {"intermediate_size", shape.feed_forward},
                         {"hidden_act", "gelu"},
                         {"max_position_embeddings", shape.positions},
                         {"type_vocab_size", shape.types},
                         {"layer_norm_eps", shape.norm_epsilon},
                         {"pad_token_id", 0}};
  say_classifier(config, "BertForSequenceClassification");
  return config.dump(2) + "\n";
}

std::string name_in_classifier(std::string_view in_file, std::string_view body) {
  if (in_file.starts_with("classifier")) return std::string(in_file);
  return fmt::format("{}.{}", body, in_file);
}

}  // namespace attnscope
