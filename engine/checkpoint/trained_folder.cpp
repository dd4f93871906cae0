// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/trained_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/text/tokenizer_folder.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

/// In the fields of the sparse cross-encoders' code (Schlatt et al., ECIR 2024).
void write_groups(ordered_json& config, const TrainedAttention& attention) {
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
void write_longformer_window(ordered_json& config, const TrainedAttention& attention) {
  if (attention.pattern != "longformer" || !attention.is_one_text || !attention.window ||
      attention.window->is_infinite() || attention.window->tokens() < 1) {
    return;
  }
  const auto layers = config.value("num_hidden_layers", std::size_t{0});
  config["attention_window"] = std::vector<std::int64_t>(layers, 2 * attention.window->tokens());
}

/// The fields that this project reads.
void write_own_fields(ordered_json& config, const TrainedAttention& attention) {
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
void write_classifier(ordered_json& config, const char* architecture) {
  config["architectures"] = {architecture};
  config["id2label"] = {{"0", "LABEL_0"}};
  config["label2id"] = {{"LABEL_0", 0}};
  config["dtype"] = "float32";
}

namespace fs = std::filesystem;

constexpr const char* config_file = "config.json";
constexpr const char* tokenizer_config_file = "tokenizer_config.json";
constexpr const char* module_list_file = "modules.json";
constexpr const char* prompts_file = "config_sentence_transformers.json";
constexpr const char* encoder_config_file = "sentence_bert_config.json";
constexpr std::size_t longest_name = 200;

Result<std::string> text_of(const fs::path& file) {
  constexpr std::uintmax_t most_bytes = 1U << 26U;
  return read_text_file(file, "checkpoint's file", most_bytes);
}

Result<ordered_json> json_in(const fs::path& file) {
  const auto text = text_of(file);
  if (!text) return tl::unexpected(text.error());
  ordered_json parsed = parse_ordered_json(*text);
  if (parsed.is_discarded()) return fail("{}: is not valid JSON; is it truncated?", file.string());
  return parsed;
}

std::string as_text(const ordered_json& value) {
  return value.dump(2) + "\n";
}

/// The token limit of a pair in tokenizer_config.json or in the file that replaces it.
std::optional<std::int64_t> limit_in(const ordered_json& config) {
  constexpr double no_limit = 1e9;  // no limit is written as 1e30
  for (const char* name : {"model_max_length", "max_len"}) {
    const auto field = config.find(name);
    if (field == config.end() || field->is_null()) continue;
    if (!field->is_number() || field->get<double>() >= no_limit) return std::nullopt;
    return field->get<std::int64_t>();
  }
  return std::nullopt;
}

void write_limit(ordered_json& config, std::int64_t most_tokens) {
  config.erase("max_len");
  config["model_max_length"] = most_tokens;
}

/// sentence-transformers' limit, in the field that applies if no other field states one.
void write_encoder_limit(ordered_json& config, std::int64_t most_tokens) {
  const auto forget = [](ordered_json& object, const char* name) {
    if (const auto field = object.find(name); field != object.end() && field->is_object())
      field->erase("max_length");
  };
  for (const char* name : {"tokenizer_args", "processor_kwargs"}) {
    const auto field = config.find(name);
    if (field == config.end() || !field->is_object()) continue;
    field->erase("model_max_length");
    field->erase("max_len");
  }
  if (const auto field = config.find("processing_kwargs");
      field != config.end() && field->is_object()) {
    forget(*field, "text");
    forget(*field, "common");
  }
  config["max_seq_length"] = most_tokens;
}

/// The encoder's configuration file, under the name with which it was read.
fs::path encoder_config(const SentenceFiles& files) {
  const auto found = std::ranges::find_if(files.paths, [](const fs::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with("sentence_") && name.ends_with("_config.json");
  });
  return found == files.paths.end() ? fs::path() : *found;
}

/// Adds files for a CrossEncoder that consists only of a classifier, with all files next to its
/// weights.
Status add_sentence_files(const SentenceFiles& files, bool other_limit, std::int64_t most_tokens,
                          TrainedFolder& folder) {
  const auto read = [&](std::string_view name) {
    const auto found = std::ranges::find_if(
        files.paths, [&](const fs::path& path) { return path.filename() == name; });
    return found == files.paths.end() ? fs::path() : *found;
  };
  folder.copied.emplace(prompts_file, read(prompts_file));
  auto list = json_in(read(module_list_file));
  if (!list) return tl::unexpected(list.error());
  if (!list->is_array() || list->empty() || !list->front().is_object())
    return fail("{}: is not a list of modules", read(module_list_file).string());
  ordered_json encoder = list->front();
  encoder["path"] = "";
  folder.texts[module_list_file] = as_text(ordered_json::array({encoder}));
  auto config = json_in(encoder_config(files));
  if (!config) return tl::unexpected(config.error());
  if (other_limit) write_encoder_limit(*config, most_tokens);
  folder.texts[encoder_config_file] = as_text(*config);
  return {};
}

/// "a model with 2 labels"; empty if it can be trained.
std::string other_kind(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config;
  const SentenceFiles* files = checkpoint.sentence.get();
  if (config.family->id() == multi_vector_id || (files != nullptr && files->multi_vector))
    return "a late-interaction model (ColBERT), which has a vector for each token";
  if (config.family->id() != "bert")
    return fmt::format("a model of the family {}", config.family->id());
  if (files != nullptr && !files->head.steps.empty())
    return "a model whose score is computed by modules of sentence-transformers";
  if (config.head.labels != 1) return fmt::format("a model with {} labels", config.head.labels);
  if (!config.head.reads_cls_alone()) return "a model whose score is computed from all tokens";
  return "";
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
  write_classifier(trained, is_longformer ? "LongformerForSequenceClassification"
                                          : "BertForSequenceClassification");
  if (attention.positions > 0) {
    // Longformer's table begins with padding rows.
    const std::int64_t before =
        is_longformer ? trained.value("pad_token_id", std::int64_t{1}) + 1 : 0;
    trained["max_position_embeddings"] = attention.positions + before;
  }
  write_groups(trained, attention);
  if (is_longformer) write_longformer_window(trained, attention);
  write_own_fields(trained, attention);
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
  write_classifier(config, "BertForSequenceClassification");
  return config.dump(2) + "\n";
}

std::string name_in_classifier(std::string_view in_file, std::string_view body) {
  if (in_file.starts_with("classifier")) return std::string(in_file);
  return fmt::format("{}.{}", body, in_file);
}

Status may_be_trained(const Checkpoint& checkpoint, std::string_view name) {
  const std::string kind = other_kind(checkpoint);
  if (kind.empty()) return {};
  return fail(
      "'{}' cannot be trained: it is {}; BERT and Longformer can, as cross-encoders with one label "
      "whose head reads [CLS], or as encoders without a head",
      in_a_sentence(name, longest_name), kind);
}

std::vector<std::string> trained_folder_files() {
  std::vector<std::string> names{config_file, module_list_file, prompts_file, encoder_config_file};
  names.insert(names.end(), tokenizer_files.begin(), tokenizer_files.end());
  return names;
}

Result<TrainedFolder> trained_folder(const SentenceFiles& files, const TrainedAttention& attention,
                                     std::int64_t most_tokens) {
  TrainedFolder folder;
  const auto config = text_of(files.encoder / config_file);
  if (!config) return tl::unexpected(config.error());
  auto trained = trained_config(*config, attention);
  if (!trained) return tl::unexpected(trained.error());
  folder.texts[config_file] = std::move(*trained);
  for (const std::string name : tokenizer_files) {
    const auto there = is_present(files.encoder / name);
    if (!there) return tl::unexpected(there.error());
    if (*there) folder.copied.emplace(name, files.encoder / name);
  }
  ordered_json tokenizer = ordered_json::object();
  if (const auto path = folder.copied.find(tokenizer_config_file); path != folder.copied.end()) {
    auto read = json_in(path->second);
    if (!read) return tl::unexpected(read.error());
    tokenizer = std::move(*read);
  }
  const auto differs = [&](std::optional<std::int64_t> limit) {
    return std::min(limit.value_or(attention.positions), attention.positions) != most_tokens;
  };
  const std::optional<std::int64_t> limit = limit_in(tokenizer);
  if (differs(limit)) {
    write_limit(tokenizer, most_tokens);
    folder.copied.erase(tokenizer_config_file);
    folder.texts[tokenizer_config_file] = as_text(tokenizer);
  }
  if (!files.counts) return folder;
  const TokenizerExtras& extras = files.tokenizer;
  std::optional<std::int64_t> own = limit;
  if (extras.max_tokens > 0) {
    own = extras.max_tokens;
  } else if (const ordered_json arguments = parse_ordered_json(extras.arguments);
             arguments.is_object() &&
             (arguments.contains("model_max_length") || arguments.contains("max_len"))) {
    own = limit_in(arguments);
  }
  if (Status added = add_sentence_files(files, differs(own), most_tokens, folder); !added)
    return tl::unexpected(added.error());
  return folder;
}

}  // namespace attnscope
