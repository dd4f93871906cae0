// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/model_config.h"

#include <array>
#include <cmath>

#include "kernels/base/json.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

// Far beyond any cross-encoder; products of two of them stay far below 2^63.
constexpr std::int64_t most_layers = 1000, most_width = 1 << 20, most_rows = 1 << 24;

// The sparse cross-encoder's training cut queries to 32 tokens with [CLS], which is no part of a
// query here.
constexpr std::int64_t sparse_query_tokens = 31;

/// The field, when it is there and says something.
std::optional<JsonField> said(const JsonField& config, std::string_view name) {
  auto field = config.member(name);
  if (field && field->value().kind == JsonValue::Kind::null) field.reset();
  return field;
}

Status read_size(const JsonField& config, std::string_view name, std::int64_t most,
                 std::int64_t& size) {
  const auto field = said(config, name);
  if (!field) return config.wrong(fmt::format("has no '{}'", name));
  const Result<std::int64_t> number = field->whole_number(1, most);
  if (!number) return tl::unexpected(number.error());
  size = *number;
  return {};
}

Result<bool> read_flag(const JsonField& config, std::string_view name, bool otherwise) {
  const auto field = said(config, name);
  if (!field) return otherwise;
  if (field->value().kind != JsonValue::Kind::boolean) {
    return field->wrong("must be true or false");
  }
  return field->value().boolean;
}

/// A field that may be left out and else must have this text.
Status must_be(const JsonField& config, std::string_view name, std::string_view wanted,
               std::string_view why) {
  const auto field = said(config, name);
  if (!field) return {};
  const Result<std::string> text = field->text();
  if (!text) return tl::unexpected(text.error());
  if (*text == wanted) return {};
  return field->wrong(fmt::format("is '{}'; {}", in_a_sentence(*text), why));
}

Result<ModelFamily> read_family(const JsonField& config) {
  const auto field = said(config, "model_type");
  if (!field) return config.wrong("has no 'model_type'; is it a model's config.json?");
  const Result<std::string> type = field->text();
  if (!type) return tl::unexpected(type.error());
  if (*type == "bert") return ModelFamily::bert;
  if (*type == "longformer") return ModelFamily::longformer;
  return field->wrong(
      fmt::format("is '{}'; cross-encoders of the types bert and longformer are "
                  "read here",
                  in_a_sentence(*type)));
}

Status check_computation(const JsonField& config) {
  if (Status gelu = must_be(config, "hidden_act", "gelu",
                            "only BERT's gelu (the exact one, by erf) is computed here");
      !gelu) {
    return gelu;
  }
  if (Status absolute = must_be(config, "position_embedding_type", "absolute",
                                "only absolute position embeddings are computed here");
      !absolute) {
    return absolute;
  }
  struct Wanted {
    std::string_view name;
    bool value;
  };
  for (const Wanted wanted : {Wanted{"is_decoder", false}, Wanted{"add_cross_attention", false},
                              Wanted{"token_type_embedding", true}}) {
    const Result<bool> value = read_flag(config, wanted.name, wanted.value);
    if (!value) return tl::unexpected(value.error());
    if (*value != wanted.value) {
      return config.member(wanted.name)
          ->wrong(fmt::format("is {}, which is not what a cross-encoder of the BERT family has",
                              *value));
    }
  }
  return {};
}

Status read_shape(const JsonField& config, ModelShape& shape) {
  struct Size {
    std::string_view name;
    std::int64_t most;
    std::int64_t* size;
  };
  for (const Size& size : {Size{"num_hidden_layers", most_layers, &shape.layers},
                           Size{"hidden_size", most_width, &shape.hidden},
                           Size{"num_attention_heads", most_width, &shape.heads},
                           Size{"intermediate_size", most_width, &shape.feed_forward},
                           Size{"vocab_size", most_rows, &shape.vocabulary},
                           Size{"max_position_embeddings", most_rows, &shape.positions},
                           Size{"type_vocab_size", most_width, &shape.types}}) {
    if (Status read = read_size(config, size.name, size.most, *size.size); !read) return read;
  }
  if (shape.hidden % shape.heads != 0) {
    return config.member("hidden_size")
        ->wrong(fmt::format("is {}, which its {} heads do not divide", shape.hidden, shape.heads));
  }
  const auto epsilon = said(config, "layer_norm_eps");
  if (!epsilon) return {};
  const JsonValue& value = epsilon->value();
  const double number = value.kind == JsonValue::Kind::integer ? static_cast<double>(value.integer)
                        : value.kind == JsonValue::Kind::real  ? value.real
                                                               : -1;
  if (!(number >= 0 && number < 1)) return epsilon->wrong("must be a number from 0 to 1");
  shape.norm_epsilon = number;
  return {};
}

Status read_architecture(const JsonField& config, std::string& architecture) {
  const auto list = said(config, "architectures");
  if (!list) return {};
  if (Status is_list = list->list(); !is_list) return is_list;
  if (list->value().elements.empty()) return {};
  const Result<std::string> first = list->elements().front().text();
  if (!first) return tl::unexpected(first.error());
  architecture = *first;
  for (const std::string_view known :
       {"ForSequenceClassification", "Model", "ForMaskedLM", "ForPreTraining"}) {
    if (architecture.ends_with(known)) return {};
  }
  return list->wrong(
      fmt::format("is '{}'; a cross-encoder is one for sequence classification, and encoders "
                  "without a head are read as well",
                  in_a_sentence(architecture)));
}

/// Which groups see which, in the words of the sparse cross-encoders of Schlatt et al.
struct GroupFlags {
  bool cls_query = true, cls_document = true;
  bool query_cls = true, query_document = true;
  bool document_cls = true, document_query = true;
  [[nodiscard]] bool others_see_all() const {
    return cls_query && cls_document && document_cls && document_query;
  }
};

Result<GroupFlags> read_groups(const JsonField& config) {
  GroupFlags groups;
  struct Named {
    std::string_view name;
    bool* flag;
  };
  for (const Named& named : {Named{"cls_query_attention", &groups.cls_query},
                             Named{"cls_doc_attention", &groups.cls_document},
                             Named{"query_cls_attention", &groups.query_cls},
                             Named{"query_doc_attention", &groups.query_document},
                             Named{"doc_cls_attention", &groups.document_cls},
                             Named{"doc_query_attention", &groups.document_query}}) {
    const Result<bool> flag = read_flag(config, named.name, true);
    if (!flag) return tl::unexpected(flag.error());
    *named.flag = *flag;
  }
  return groups;
}

/// BERT's own attention, or the sparse cross-encoder's.
Status read_bert_attention(const JsonField& config, ModelConfig& model) {
  const Result<GroupFlags> groups = read_groups(config);
  if (!groups) return tl::unexpected(groups.error());
  const auto size = said(config, "attention_window_size");
  std::optional<Window> window;
  if (size) {
    const Result<std::int64_t> tokens = size->whole_number(0, most_rows);
    if (!tokens) return tl::unexpected(tokens.error());
    window = Window::of(*tokens);
  }
  const bool query_alone = !groups->query_cls && !groups->query_document;
  const bool query_sees_all = groups->query_cls && groups->query_document;
  if (!groups->others_see_all() || !(query_alone || query_sees_all)) {
    return config.wrong(
        "switches attention off between other groups than from the query to [CLS] and the document "
        "together; of the sparse cross-encoders only those two are read here");
  }
  if (query_sees_all && !window) return {};
  model.pattern = query_alone ? "sparse" : "sparse-without-independent-query";
  model.window = window.value_or(Window::infinite());
  model.most_query_tokens = sparse_query_tokens;
  return {};
}

/// 'attention_window' counts both sides: one number, or one for each layer.
Status read_longformer_attention(const JsonField& config, ModelConfig& model) {
  const auto field = said(config, "attention_window");
  if (!field) return config.wrong("has no 'attention_window'");
  const std::vector<JsonField> windows = field->value().kind == JsonValue::Kind::list
                                             ? field->elements()
                                             : std::vector<JsonField>{*field};
  for (const JsonField& window : windows) {
    const Result<std::int64_t> both_sides = window.whole_number(2, most_rows);
    if (!both_sides) return tl::unexpected(both_sides.error());
    const Window one_sided = Window::of(*both_sides / 2);
    if (*both_sides % 2 != 0) return window.wrong("is odd; it counts both sides of a token");
    if (model.window && *model.window != one_sided) {
      return field->wrong("differs between layers; one window for all layers is computed here");
    }
    model.window = one_sided;
  }
  if (!model.window) return field->wrong("is empty");
  model.pattern = "longformer";
  // Positions begin behind that of padding.
  std::int64_t padding = 1;
  if (const auto id = said(config, "pad_token_id")) {
    const Result<std::int64_t> number = id->whole_number(0, most_rows);
    if (!number) return tl::unexpected(number.error());
    padding = *number;
  }
  model.shape.first_position = padding + 1;
  model.shape.positions -= model.shape.first_position;
  if (model.shape.positions > 0) return {};
  return config.member("max_position_embeddings")
      ->wrong("leaves no position behind that of padding");
}

}  // namespace

Result<ModelConfig> read_model_config(std::string_view json, std::string_view source) {
  const Result<JsonValue> value = parse_json(json, source);
  if (!value) return tl::unexpected(value.error());
  const JsonField config(source, *value);
  if (Status object = config.object(); !object) return tl::unexpected(object.error());
  const Result<ModelFamily> family = read_family(config);
  if (!family) return tl::unexpected(family.error());
  ModelConfig model{.family = *family};
  for (const Status& step : {read_architecture(config, model.architecture),
                             check_computation(config), read_shape(config, model.shape)}) {
    if (!step) return tl::unexpected(step.error());
  }
  const Status attention = *family == ModelFamily::bert ? read_bert_attention(config, model)
                                                        : read_longformer_attention(config, model);
  if (!attention) return tl::unexpected(attention.error());
  return model;
}

}  // namespace attnscope
