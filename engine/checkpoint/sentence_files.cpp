// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/sentence_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/weight_files.h"
#include "kernels/base/json.h"
#include "kernels/base/open_file.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t most_bytes = 1U << 20U;
constexpr std::int64_t widest = 1 << 20;

/// Reads a JSON file whose errors name it.
template <typename Read>
Status read_file(const fs::path& path, std::string_view kind, const Read& read) {
  const Result<std::string> text = read_text_file(path, kind, most_bytes);
  if (!text) return tl::unexpected(text.error());
  return with_json(std::string_view(*text), path.string(), read);
}

/// "a.b.Dense" to "Dense".
std::string last_part(const std::string& type) {
  return type.substr(type.rfind('.') + 1);
}

/// What modules.json lists.
struct Listed {
  std::string type;  // "Dense"
  std::string path;
};

std::vector<Listed> read_list(const JsonField& root) {
  std::vector<Listed> listed;
  for (const JsonField& element : root.elements()) {
    const JsonField type = element["type"], path = element["path"];
    if (!type.text().starts_with("sentence_transformers.")) {
      type.wrong(
          fmt::format("is '{}'; only modules of sentence-transformers itself are read, since "
                      "no code of a checkpoint is run",
                      in_a_sentence(type.text())));
    }
    const std::string folder = path.text();
    if (!folder.empty() && !is_plain_name(folder)) {
      path.must_be("the name of a folder next to modules.json, or empty");
    }
    listed.push_back({last_part(type.text()), folder});
  }
  return listed;
}

/// The chain of modules after the encoder, as their configurations arrive.
class Chain {
 public:
  explicit Chain(SentenceFiles& files) : files_(files) {}

  void add_pooling(const JsonField& config) {
    config.only({"embedding_dimension", "word_embedding_dimension", "pooling_mode",
                 "include_prompt", "pooling_mode_cls_token", "pooling_mode_max_tokens",
                 "pooling_mode_mean_tokens", "pooling_mode_mean_sqrt_len_tokens",
                 "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"});
    auto dimension = config.member("embedding_dimension");
    if (!dimension) dimension = config.member("word_embedding_dimension");
    if (!dimension) config.wrong("has no 'embedding_dimension'");
    files_.head.pooling = modes_of(config);
    files_.head.pools_prompt = read_flag(config, "include_prompt", true);
    width_ = dimension->whole(1, widest) * static_cast<std::int64_t>(files_.head.pooling.size());
    has_pooling_ = true;
  }

  void add_dense(const JsonField& config, const std::string& folder) {
    HeadStep step{.name = next_name(), .in_file = folder + ".linear"};
    step.in = config["in_features"].whole(1, widest);
    step.out = config["out_features"].whole(1, widest);
    step.bias = config.truth_or("bias", true);
    step.residual = config.truth_or("use_residual", false);
    step.activation = HeadActivation::tanh;
    if (const auto field = config.member("activation_function")) {
      if (!field->is_text()) field->must_be("the name of a class of torch.nn");
      const std::string name = field->text();
      if (name.starts_with("torch.")) {
        const auto known = parse_activation(last_part(name));
        if (!known) {
          field->wrong(fmt::format("is '{}', which is not computed here", in_a_sentence(name)));
        }
        step.activation = *known;
      }
    }
    const std::string usual = "sentence_embedding";
    const std::string in = config.text_or("module_input_name", usual);
    if (in != usual) {
      config["module_input_name"].wrong(fmt::format(
          "is '{}'; only '{}' is read by the modules computed here", in_a_sentence(in), usual));
    }
    const auto out = config.member("module_output_name");
    writes_scores_ = out && !out->is_null() && out->text() == "scores";
    if (out && !out->is_null() && !writes_scores_ && out->text() != usual) {
      out->wrong(fmt::format("is '{}'; '{}' and 'scores' are computed here",
                             in_a_sentence(out->text()), usual));
    }
    if (step.in != width_) {
      config["in_features"].wrong(
          fmt::format("is {}, and the module before it gives {} numbers", step.in, width_));
    }
    width_ = step.out;
    files_.head.steps.push_back(std::move(step));
  }

  void add_norm(const JsonField& config, const std::string& folder) {
    config.only({"dimension"});
    const std::int64_t width = config["dimension"].whole(1, widest);
    if (width != width_) {
      config["dimension"].wrong(
          fmt::format("is {}, and the module before it gives {} numbers", width, width_));
    }
    constexpr double epsilon = 1e-5;  // torch.nn.LayerNorm's
    files_.head.steps.push_back({.kind = HeadStep::Kind::norm,
                                 .name = next_name(),
                                 .in_file = folder + ".norm",
                                 .in = width,
                                 .epsilon = epsilon});
  }

  void add_normalize() {
    files_.head.steps.push_back({.kind = HeadStep::Kind::normalize, .name = next_name()});
  }

  /// Ok, or why the modules make no scores.
  [[nodiscard]] Status finish(std::string_view source) const {
    if (!has_pooling_ || !writes_scores_) {
      return fail(
          "{}: the modules after the encoder make no scores; a Pooling and a last Dense with "
          "\"module_output_name\": \"scores\" do",
          source);
    }
    return {};
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] bool has_pooling() const { return has_pooling_; }

 private:
  static std::vector<Pooling> modes_of(const JsonField& config) {
    constexpr std::array<std::string_view, 6> names{
        "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"};
    std::vector<Pooling> modes;
    if (const auto mode = config.member("pooling_mode")) {
      for (const JsonField& one : mode->one_or_more())
        modes.push_back(static_cast<Pooling>(one.one_of(names, "pooling mode")));
      return modes;
    }
    constexpr std::array<std::string_view, 6> flags{
        "pooling_mode_cls_token",           "pooling_mode_max_tokens",
        "pooling_mode_mean_tokens",         "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
    for (std::size_t i = 0; i < flags.size(); ++i)
      if (config.truth_or(flags[i], false)) modes.push_back(static_cast<Pooling>(i));
    if (modes.empty()) modes.push_back(Pooling::mean);
    return modes;
  }

  [[nodiscard]] std::string next_name() const {
    return fmt::format("head.{}", files_.head.steps.size());
  }

  SentenceFiles& files_;
  std::int64_t width_ = 0;
  bool has_pooling_ = false, writes_scores_ = false;
};

/// config_sentence_transformers.json: whether the modules count, prompts, the activation.
Status read_prompts(const fs::path& folder, SentenceFiles& files) {
  const fs::path path = folder / "config_sentence_transformers.json";
  return read_file(path, "configuration of sentence-transformers", [&](const JsonField& root) {
    files.counts = root.text_or("model_type", "") == "CrossEncoder";
    if (!files.counts) return;
    if (const auto activation = root.member("activation_fn"); activation && activation->is_text())
      files.activation = activation->text();
    const auto prompts = root.member("prompts");
    const auto name = root.member("default_prompt_name");
    if (!name || name->is_null()) return;
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
  const auto processing = root.member("processing_kwargs");
  if (!processing || processing->is_null()) return;
  for (const JsonField& kind : processing->members()) {
    if (kind.key() != "text" && kind.key() != "common") {
      if (kind.value().empty()) continue;
      kind.wrong("is of other inputs than text, which are not read here");
    }
    for (const JsonField& field : kind.members()) {
      if (field.key() == "max_length") {
        files.tokenizer.max_tokens = field.whole(1, widest);
      } else if (field.key() == "truncation") {
        const bool cuts = field.is_text() ? field.text() == "longest_first" : field.truth();
        if (!cuts) field.wrong("is no 'longest_first', and pairs are cut in that way here");
      } else if (field.key() != "padding" && field.key() != "return_tensors" &&
                 field.key() != "pad_to_multiple_of") {
        field.wrong("is not read here; remove it");
      }
    }
  }
}

/// sentence_bert_config.json of the encoder's folder, or one of its older names.
Status read_encoder_config(SentenceFiles& files) {
  for (const char* name : {"sentence_bert_config.json", "sentence_roberta_config.json",
                           "sentence_distilbert_config.json", "sentence_camembert_config.json",
                           "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
                           "sentence_xlnet_config.json"}) {
    const fs::path path = files.encoder / name;
    const Result<bool> there = is_present(path);
    if (!there) return tl::unexpected(there.error());
    if (!*there) continue;
    files.paths.push_back(path);
    return read_file(path, "encoder's configuration", [&](const JsonField& root) {
      root.only({"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                 "module_output_name", "processing_kwargs", "unpad_inputs", "query_length",
                 "document_length", "query_expansion", "model_args", "model_kwargs",
                 "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"});
      if (const auto limit = root.member("max_seq_length"); limit && !limit->is_null())
        files.tokenizer.max_tokens = limit->whole(1, widest);
      files.tokenizer.lower_case = root.truth_or("do_lower_case", false);
      const std::string task = root.text_or("transformer_task", "feature-extraction");
      files.is_classifier = task == "sequence-classification";
      if (!files.is_classifier && task != "feature-extraction") {
        root["transformer_task"].wrong(fmt::format(
            "is '{}'; 'feature-extraction' and 'sequence-classification' are computed here",
            in_a_sentence(task)));
      }
      json replaced = json::object();
      for (const char* key : {"tokenizer_args", "processor_kwargs"}) {
        const auto arguments = root.member(key);
        if (!arguments || arguments->is_null()) continue;
        for (const JsonField& one : arguments->members())
          replaced[std::string(one.key())] = one.value();
      }
      if (!replaced.empty()) files.tokenizer.arguments = replaced.dump();
      for (const char* key :
           {"model_args", "model_kwargs", "config_args", "config_kwargs", "query_expansion"}) {
        const auto field = root.member(key);
        if (!field || field->is_null() || field->value().empty()) continue;
        if (key == std::string_view("model_args") || key == std::string_view("model_kwargs")) {
          // Where and in what type the model is loaded, which is a matter of options here.
          field->only(
              {"dtype", "torch_dtype", "attn_implementation", "device_map", "low_cpu_mem_usage"});
          continue;
        }
        field->wrong("is not read here; remove it, or write its values to config.json");
      }
      read_processing(root, files);
    });
  }
  return {};
}

Status add_module(const fs::path& folder, const Listed& listed, Chain& chain,
                  SentenceFiles& files) {
  const fs::path path = folder / listed.path / "config.json";
  const auto read = [&](const auto& take) {
    files.paths.push_back(path);
    return read_file(path, "module's configuration", take);
  };
  files.modules.push_back({folder / listed.path, listed.path + "."});
  if (listed.type == "Pooling" && !chain.has_pooling()) {
    return read([&](const JsonField& config) { chain.add_pooling(config); });
  }
  if (chain.has_pooling()) {
    if (listed.type == "Dense")
      return read([&](const JsonField& config) { chain.add_dense(config, listed.path); });
    if (listed.type == "LayerNorm")
      return read([&](const JsonField& config) { chain.add_norm(config, listed.path); });
    if (listed.type == "Normalize") {
      files.modules.pop_back();
      chain.add_normalize();
      return {};
    }
    if (listed.type == "Dropout") {
      files.modules.pop_back();
      return {};
    }
  }
  return fail(
      "{}: lists the module '{}', which is not computed here{}; Pooling, then Dense, LayerNorm, "
      "Normalize and Dropout are",
      (folder / "modules.json").string(), in_a_sentence(listed.type),
      chain.has_pooling() ? "" : " before a Pooling");
}

}  // namespace

Result<SentenceFiles> read_sentence_files(const fs::path& folder) {
  SentenceFiles files;
  files.encoder = folder;
  const fs::path list = folder / "modules.json";
  const fs::path config = folder / "config_sentence_transformers.json";
  for (const fs::path& path : {list, config}) {
    const Result<bool> there = is_present(path);
    if (!there) return tl::unexpected(there.error());
    if (!*there) return files;
  }
  if (Status read = read_prompts(folder, files); !read) return tl::unexpected(read.error());
  if (!files.counts) return files;
  files.paths = {config, list};
  std::vector<Listed> listed;
  if (Status read = read_file(list, "list of modules",
                              [&](const JsonField& root) { listed = read_list(root); });
      !read) {
    return tl::unexpected(read.error());
  }
  if (listed.empty() || listed.front().type != "Transformer") {
    return fail("{}: its first module is no Transformer; only encoders of that kind are read",
                list.string());
  }
  if (!listed.front().path.empty()) files.encoder = folder / listed.front().path;
  if (Status read = read_encoder_config(files); !read) return tl::unexpected(read.error());
  listed.erase(listed.begin());
  if (listed.empty()) {
    // A feature extractor alone makes no scores, and a classifier has its own head.
    if (!files.is_classifier) {
      return fail(
          "{}: lists an encoder alone, which makes no scores; a classifier has "
          "\"transformer_task\": \"sequence-classification\" in sentence_bert_config.json",
          list.string());
    }
    return files;
  }
  if (files.is_classifier) {
    return fail("{}: lists modules after a sequence classifier, which are not computed here",
                list.string());
  }
  Chain chain(files);
  for (const Listed& module : listed) {
    if (Status added = add_module(folder, module, chain, files); !added)
      return tl::unexpected(added.error());
  }
  if (Status makes = chain.finish(list.string()); !makes) return tl::unexpected(makes.error());
  files.head.needed = true;
  files.head.stated_labels = chain.width();
  return files;
}

}  // namespace attnscope
