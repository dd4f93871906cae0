// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/sentence_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/sentence_modules.h"
#include "engine/checkpoint/weight_files.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// PyLate's files have no model_type before sentence-transformers 5. `has_module`: modules.json
/// lists a PyLate module.
bool is_pylate(const JsonField& config, bool has_module) {
  if (const auto type = config.present("model_type")) return type->text() == "ColBERT";
  return has_module || config.member("query_prefix").has_value() ||
         config.member("document_prefix").has_value();
}

/// Reads config_sentence_transformers.json: whether the modules apply, prompts, the activation.
Status read_prompts(const fs::path& folder, bool has_list, bool has_pylate_module,
                    SentenceFiles& files, std::optional<MultiVectorFiles>& multi_vector) {
  const fs::path path = folder / "config_sentence_transformers.json";
  return read_json_file(path, "configuration of sentence-transformers", [&](const JsonField& root) {
    const auto stated = root.present("model_type");
    const std::string type = stated ? stated->text() : "";
    if (is_pylate(root, has_pylate_module)) {
      multi_vector = read_pylate(root);
    } else if (type == "MultiVectorEncoder") {
      multi_vector = read_multi_vector_encoder(root);
    }
    files.counts = multi_vector || (type == "CrossEncoder" && has_list);
    if (has_list && !files.counts) {
      files.unread_modules = fmt::format(
          "modules.json is not read, since config_sentence_transformers.json {}; that of a "
          "cross-encoder has \"model_type\": \"CrossEncoder\"",
          stated ? fmt::format("has the model_type '{}'", in_a_sentence(type))
                 : "has no 'model_type'");
    }
    if (!files.counts || multi_vector) return;
    if (const auto activation = root.member("activation_fn"); activation && activation->is_text())
      files.activation = activation->text();
    const auto prompts = root.member("prompts");
    const auto name = root.present("default_prompt_name");
    if (!name) return;
    const auto prompt = prompts && prompts->is_object() ? prompts->member(name->text())
                                                        : std::optional<JsonField>();
    if (!prompt) {
      name->wrong(
          fmt::format("is '{}', which 'prompts' does not have", in_a_sentence(name->text())));
    }
    if (!prompt->is_null()) files.tokenizer.prompt = prompt->text();
  });
}

void read_processing(const JsonField& root, SentenceFiles& files) {
  const auto processing = root.present("processing_kwargs");
  if (!processing) return;
  for (const JsonField& kind : processing->members()) {
    if (kind.key() != "text" && kind.key() != "common") {
      if (kind.value().empty()) continue;
      kind.wrong("is for inputs other than text, which are not supported");
    }
    for (const JsonField& field : kind.members()) {
      if (field.key() == "max_length") {
        files.tokenizer.max_tokens = field.whole(1, most_width);
      } else if (field.key() == "truncation") {
        const bool cuts = field.is_text() ? field.text() == "longest_first" : field.truth();
        if (!cuts) field.wrong("is not 'longest_first', the only supported truncation");
      } else if (field.key() == "padding" || field.key() == "pad_to_multiple_of") {
        // A single pair is padded only by these settings.
        files.tokenizer.is_padded = files.tokenizer.is_padded || field.value().is_number() ||
                                    (field.is_text() && field.text() == "max_length");
      } else if (field.key() != "return_tensors") {
        field.wrong("is not supported; remove it");
      }
    }
  }
}

/// Checks the encoder's output and its name; without `modality_config` neither is read.
void check_output(const JsonField& root, bool is_classifier) {
  const auto kinds = root.present("modality_config");
  if (!kinds) return;
  const auto must_be = [](const JsonField& field, const std::string& only) {
    const bool is_it = field.is_text() ? field.text() == only
                                       : field.is_list() && field.value() == json::array({only});
    if (!is_it) {
      field.wrong(
          fmt::format("is {}; only '{}' is supported", in_a_sentence(field.value().dump()), only));
    }
  };
  if (const auto message = kinds->member("message"))
    message->wrong("turns texts into chat messages, which is not supported; remove it");
  const JsonField text = (*kinds)["text"];
  must_be(text["method"], "forward");
  must_be(text["method_output_name"], is_classifier ? "logits" : "last_hidden_state");
  must_be(root["module_output_name"], is_classifier ? "scores" : "token_embeddings");
}

/// Values that override those of config.json: accepted only if they are equal.
void check_config_values(const JsonField& values, const fs::path& folder) {
  if (values.is_null() || values.value().empty()) return;
  json config;
  const Status read = read_json_file(folder / "config.json", "model's configuration",
                                     [&](const JsonField& root) { config = root.value(); });
  if (!read) throw JsonProblem{read.error()};
  for (const JsonField& field : values.members()) {
    const std::string key(field.key());
    if (key == "trust_remote_code" || (config.contains(key) && config[key] == field.value()))
      continue;
    field.wrong("is not supported; remove it, or write it to config.json");
  }
}

/// Reads sentence_bert_config.json of the encoder's folder, or a file with one of its older names.
Status read_encoder_config(SentenceFiles& files, std::optional<MultiVectorFiles>& multi_vector) {
  for (const char* name : {"sentence_bert_config.json", "sentence_roberta_config.json",
                           "sentence_distilbert_config.json", "sentence_camembert_config.json",
                           "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
                           "sentence_xlnet_config.json"}) {
    const fs::path path = files.encoder / name;
    const Result<bool> there = is_present(path);
    if (!there) return tl::unexpected(there.error());
    if (!*there) continue;
    files.paths.push_back(path);
    return read_json_file(path, "encoder's configuration", [&](const JsonField& root) {
      root.only({"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                 "module_output_name", "processing_kwargs", "unpad_inputs", "query_length",
                 "document_length", "query_expansion", "model_args", "model_kwargs",
                 "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"});
      if (const auto limit = root.present("max_seq_length"))
        files.tokenizer.max_tokens = limit->whole(1, most_width);
      files.tokenizer.lower_case = root.truth_or("do_lower_case", false);
      const std::string task = root.text_or("transformer_task", "feature-extraction");
      files.is_classifier = task == "sequence-classification";
      if (!files.is_classifier && task != "feature-extraction") {
        root["transformer_task"].wrong(
            fmt::format("is '{}'; 'feature-extraction' and 'sequence-classification' are supported",
                        in_a_sentence(task)));
      }
      check_output(root, files.is_classifier);
      json replaced = json::object();
      for (const char* key : {"tokenizer_args", "processor_kwargs"}) {
        const auto arguments = root.present(key);
        if (!arguments) continue;
        for (const JsonField& argument : arguments->members())
          replaced[std::string(argument.key())] = argument.value();
      }
      if (!replaced.empty()) files.tokenizer.arguments = replaced.dump();
      // Takes precedence over max_seq_length.
      if (replaced.contains("model_max_length")) files.tokenizer.max_tokens = 0;
      if (multi_vector && multi_vector->texts.form != MultiVectorForm::pylate)
        read_text_lengths(root, *multi_vector);
      // Device and data type of the model, which are options in this program.
      for (const char* key : {"model_args", "model_kwargs"}) {
        if (const auto field = root.present(key)) {
          field->only({"dtype", "torch_dtype", "attn_implementation", "device_map",
                       "low_cpu_mem_usage", "trust_remote_code"});
        }
      }
      for (const char* key : {"config_args", "config_kwargs"})
        if (const auto field = root.present(key)) check_config_values(*field, files.encoder);
      if (const auto expansion = root.present("query_expansion");
          expansion && !multi_vector && !expansion->value().empty()) {
        expansion->wrong("is a setting of late-interaction encoders; remove it");
      }
      const std::int64_t before = std::exchange(files.tokenizer.max_tokens, 0);
      read_processing(root, files);
      if (multi_vector && files.tokenizer.max_tokens > 0)
        limit_texts(files.tokenizer.max_tokens, *multi_vector);
      if (files.tokenizer.max_tokens == 0) files.tokenizer.max_tokens = before;
    });
  }
  return {};
}

Result<std::vector<ListedModule>> read_modules(const fs::path& list) {
  std::vector<ListedModule> listed;
  Status read = read_json_file(list, "list of modules",
                               [&](const JsonField& root) { listed = read_module_list(root); });
  if (!read) return tl::unexpected(read.error());
  return listed;
}

/// The modules after the encoder, whose folder is that of the first module.
Result<std::vector<ListedModule>> after_encoder(const fs::path& folder,
                                                std::vector<ListedModule> listed,
                                                SentenceFiles& files) {
  const fs::path list = folder / "modules.json";
  files.paths.push_back(list);
  if (listed.empty() || listed.front().type != "Transformer") {
    return fail("{}: its first module is not a Transformer, the only supported encoder",
                list.string());
  }
  if (!listed.front().path.empty()) files.encoder = folder / listed.front().path;
  listed.erase(listed.begin());
  return listed;
}

Status add_modules(const fs::path& folder, const std::vector<ListedModule>& listed,
                   ModuleChain& chain, SentenceFiles& files) {
  for (const ListedModule& module : listed) {
    const auto has_weights = chain.add(folder, module, files.paths);
    if (!has_weights) return tl::unexpected(has_weights.error());
    if (*has_weights) files.modules.push_back({folder / module.path, module.path + "."});
  }
  return {};
}

Status take_head(const fs::path& folder, ModuleChain chain, SentenceFiles& files) {
  Result<HeadConfig> head = std::move(chain).finish((folder / "modules.json").string());
  if (!head) return tl::unexpected(head.error());
  files.head = std::move(*head);
  return {};
}

Status take_multi_vector(const fs::path& folder, std::vector<ListedModule> listed,
                         MultiVectorFiles multi_vector, SentenceFiles& files) {
  const bool pylate = multi_vector.texts.form == MultiVectorForm::pylate;
  if (files.is_classifier) {
    return fail("{}: its encoder is a sequence classifier, whose tokens have no vectors",
                (folder / "modules.json").string());
  }
  // PyLate uses only these of a list.
  if (pylate)
    std::erase_if(listed, [](const ListedModule& module) { return module.type != "Dense"; });
  if (pylate && listed.empty()) {
    return fail(
        "{}: lists no Dense after the encoder, so PyLate would use random weights; copy the "
        "checkpoint again",
        (folder / "modules.json").string());
  }
  ModuleChain chain(ModuleInput::tokens, std::move(multi_vector.head));
  if (Status taken = add_modules(folder, listed, chain, files); !taken) return taken;
  if (pylate) {
    chain.normalize();
    multi_vector.texts.lower_case = std::exchange(files.tokenizer.lower_case, false);
  } else {
    multi_vector.texts.skipped_words = chain.skipped_words();
  }
  files.multi_vector = std::make_shared<const MultiVectorTexts>(std::move(multi_vector.texts));
  return take_head(folder, std::move(chain), files);
}

}  // namespace

Result<SentenceFiles> read_sentence_files(const fs::path& folder) {
  SentenceFiles files;
  files.encoder = folder;
  const fs::path config = folder / "config_sentence_transformers.json";
  std::optional<MultiVectorFiles> multi_vector;
  const Result<bool> has_list = is_present(folder / "modules.json");
  if (!has_list) return tl::unexpected(has_list.error());
  const Result<bool> has_config = is_present(config);
  if (!has_config) return tl::unexpected(has_config.error());
  // An error of the list is reported only if the list applies.
  Result<std::vector<ListedModule>> modules;
  if (*has_list) modules = read_modules(folder / "modules.json");
  const bool has_pylate_module = modules && std::ranges::any_of(*modules, &ListedModule::is_pylate);
  if (*has_config) {
    Status read = read_prompts(folder, *has_list, has_pylate_module, files, multi_vector);
    if (!read) return tl::unexpected(read.error());
    if (multi_vector && !*has_list) {
      return fail("{}: belongs to a late-interaction encoder, but modules.json is missing; copy it",
                  config.string());
    }
  } else if (*has_list) {
    files.unread_modules =
        "modules.json is not read, since there is no config_sentence_transformers.json with "
        "\"model_type\": \"CrossEncoder\"";
  }
  if (!files.counts) {
    auto stanford = read_stanford(folder, files.paths);
    if (!stanford) return tl::unexpected(stanford.error());
    if (!*stanford) return files;
    files.head = std::move((*stanford)->head);
    files.multi_vector = std::make_shared<const MultiVectorTexts>(std::move((*stanford)->texts));
    return files;
  }
  files.paths.push_back(config);
  if (!modules) return tl::unexpected(modules.error());
  auto listed = after_encoder(folder, std::move(*modules), files);
  if (!listed) return tl::unexpected(listed.error());
  if (Status read = read_encoder_config(files, multi_vector); !read)
    return tl::unexpected(read.error());
  if (multi_vector) {
    Status taken = take_multi_vector(folder, std::move(*listed), std::move(*multi_vector), files);
    if (!taken) return tl::unexpected(taken.error());
    return files;
  }
  const std::string list = (folder / "modules.json").string();
  if (listed->empty()) {
    // A feature extractor alone computes no scores, and a classifier has its own head.
    if (!files.is_classifier) {
      return fail(
          "{}: lists only an encoder, which computes no scores; a classifier has "
          "\"transformer_task\": \"sequence-classification\" in sentence_bert_config.json",
          list);
    }
    return files;
  }
  if (files.is_classifier) {
    return fail("{}: lists modules after a sequence classifier, which are not supported", list);
  }
  ModuleChain chain(ModuleInput::pairs);
  if (Status taken = add_modules(folder, *listed, chain, files); !taken)
    return tl::unexpected(taken.error());
  if (Status taken = take_head(folder, std::move(chain), files); !taken)
    return tl::unexpected(taken.error());
  files.head.needed = true;
  return files;
}

}  // namespace attnscope
