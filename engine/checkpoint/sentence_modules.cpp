// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/sentence_modules.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/weight_files.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// "a.b.Dense" to "Dense".
std::string last_part(const std::string& type) {
  return type.substr(type.rfind('.') + 1);
}

std::vector<Pooling> modes_of(const JsonField& config) {
  constexpr std::array<std::string_view, 6> names{
      "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"};
  std::vector<Pooling> modes;
  if (const auto mode = config.member("pooling_mode")) {
    for (const JsonField& entry : mode->one_or_more())
      modes.push_back(static_cast<Pooling>(entry.one_of(names, "pooling mode")));
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

constexpr std::int64_t usual_query_length = 32, usual_document_length = 180;

/// The 32 ASCII punctuation characters.
std::vector<std::string> punctuation() {
  std::vector<std::string> marks;
  for (const char mark : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
    marks.emplace_back(1, mark);
  return marks;
}

std::int64_t length_or(const JsonField& config, std::string_view name, std::int64_t usual) {
  const auto field = config.present(name);
  return field ? field->whole(1, most_rows) : usual;
}

std::string text_or(const JsonField& config, std::string_view name, std::string_view usual) {
  const auto field = config.present(name);
  return field ? field->text() : std::string(usual);
}

/// The text of a prompt by its name; empty if there is none.
std::string prompt_named(const JsonField& config, std::string_view name) {
  const auto prompts = config.present("prompts");
  const auto prompt = prompts ? prompts->present(name) : std::nullopt;
  return prompt ? prompt->text() : "";
}

/// {"strategy": "fixed", "attend": false, "token": null, "length": 32}, or null.
void read_expansion(const JsonField& expansion, MultiVectorFiles& files) {
  if (expansion.is_null()) return;
  expansion.only({"strategy", "attend", "token", "length"});
  constexpr std::array<std::string_view, 2> strategies{"fixed", "min"};
  files.texts.cuts_to_expansion =
      expansion["strategy"].one_of(strategies, "expansion strategy") == 0;
  files.texts.expansion_length = expansion["length"].whole(1, most_rows);
  files.texts.expansion_token = text_or(expansion, "token", "");
  MaxSimConfig& max_sim = *files.head.max_sim;
  max_sim.attends_to_expansion = read_flag(expansion, "attend", false);
  max_sim.expansion_scores = max_sim.attends_to_expansion;  // a MultiVectorMask scores it anyway
}

}  // namespace

Status read_json_file(const fs::path& path, std::string_view kind,
                      const std::function<void(const JsonField&)>& read) {
  constexpr std::uintmax_t most_bytes = 1U << 20U;
  const Result<std::string> text = read_text_file(path, kind, most_bytes);
  if (!text) return tl::unexpected(text.error());
  return with_json(std::string_view(*text), path.string(), read);
}

std::vector<ListedModule> read_module_list(const JsonField& root) {
  std::vector<ListedModule> listed;
  for (const JsonField& element : root.elements()) {
    const JsonField type = element["type"], path = element["path"];
    if (!type.text().starts_with("sentence_transformers.") &&
        type.text() != "pylate.models.Dense.Dense") {
      type.wrong(
          fmt::format("is '{}'; only modules of sentence-transformers and of PyLate are supported, "
                      "since code in checkpoints is never run",
                      in_a_sentence(type.text())));
    }
    const std::string folder = path.text();
    if (!folder.empty() && !is_plain_name(folder)) {
      path.must_be("the name of a folder next to modules.json, or empty");
    }
    listed.push_back({.type = last_part(type.text()),
                      .path = folder,
                      .is_pylate = type.text().starts_with("pylate.")});
  }
  return listed;
}

void ModuleChain::add_pooling(const JsonField& config) {
  config.only({"embedding_dimension", "word_embedding_dimension", "pooling_mode", "include_prompt",
               "pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens",
               "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
               "pooling_mode_lasttoken"});
  auto dimension = config.member("embedding_dimension");
  if (!dimension) dimension = config.member("word_embedding_dimension");
  if (!dimension) config.wrong("has no 'embedding_dimension'");
  head_.pooling = modes_of(config);
  head_.pools_prompt = read_flag(config, "include_prompt", true);
  width_ = dimension->whole(1, most_width) * static_cast<std::int64_t>(head_.pooling.size());
  has_pooling_ = true;
}

void ModuleChain::add_dense(const JsonField& config, const std::string& folder) {
  HeadStep step{.name = next_name(), .in_file = folder + ".linear"};
  step.in = config["in_features"].whole(1, most_width);
  step.out = config["out_features"].whole(1, most_width);
  step.bias = config.truth_or("bias", true);
  step.residual = config.truth_or("use_residual", false);
  step.activation = HeadActivation::tanh;
  if (const auto field = config.member("activation_function")) {
    if (!field->is_text()) field->must_be("the name of a class of torch.nn");
    const std::string name = field->text();
    if (name.starts_with("torch.")) {
      const auto known = parse_activation(last_part(name));
      if (!known) {
        field->wrong(fmt::format("is '{}', which is not supported", in_a_sentence(name)));
      }
      step.activation = *known;
    }
  }
  const bool of_tokens = input_ == ModuleInput::tokens;
  const std::string usual(usual_name());
  const std::string in = config.text_or("module_input_name", usual);
  if (in != usual) {
    config["module_input_name"].wrong(
        fmt::format("is '{}'; only '{}' is supported", in_a_sentence(in), usual));
  }
  const auto out = config.present("module_output_name");
  const bool makes_scores = !of_tokens && out && out->text() == "scores";
  if (out && !makes_scores && out->text() != usual) {
    out->wrong(fmt::format("is '{}'; '{}'{} supported", in_a_sentence(out->text()), usual,
                           of_tokens ? " is" : " and 'scores' are"));
  }
  if (step.in != width_ && (width_ > 0 || !of_tokens)) {
    config["in_features"].wrong(
        fmt::format("is {}, but the preceding module outputs {} numbers", step.in, width_));
  }
  if (makes_scores) {
    head_.stated_labels = step.out;
    scores_ = steps_;
    scores_.push_back(std::move(step));
  } else {
    width_ = step.out;
    steps_.push_back(std::move(step));
  }
}

void ModuleChain::add_norm(const JsonField& config, const std::string& folder) {
  config.only({"dimension"});
  const std::int64_t width = config["dimension"].whole(1, most_width);
  if (width != width_) {
    config["dimension"].wrong(
        fmt::format("is {}, but the preceding module outputs {} numbers", width, width_));
  }
  constexpr double epsilon = 1e-5;  // default of torch.nn.LayerNorm
  steps_.push_back({.kind = HeadStep::Kind::norm,
                    .name = next_name(),
                    .in_file = folder + ".norm",
                    .in = width,
                    .epsilon = epsilon});
}

/// Has no effect on a missing value; `token_embeddings` is not read after a Pooling.
void ModuleChain::add_normalize(const JsonField& config) {
  const bool of_tokens = input_ == ModuleInput::tokens;
  config.only({"module_input_name", "module_output_name"});
  const std::string in = config.text_or("module_input_name", "sentence_embedding");
  const auto out = config.present("module_output_name");
  const bool in_place = !out || out->text() == in;
  if (in_place && in == usual_name()) return normalize();
  if (in_place && in == (of_tokens ? "sentence_embedding" : "token_embeddings")) return;
  const JsonField field = in_place ? config["module_input_name"] : *out;
  field.wrong(fmt::format("is '{}'; only '{}' can be normalized", in_a_sentence(field.text()),
                          usual_name()));
}

/// MultiVectorMask: selects the tokens that have vectors.
void ModuleChain::add_mask(const JsonField& config) {
  config.only({"skiplist_words", "skiplist_tasks", "keep_only_token_ids"});
  MaxSimConfig& max_sim = *head_.max_sim;
  max_sim.expansion_scores = true;
  max_sim.skips_documents = true;
  max_sim.skips_queries = false;
  if (const auto words = config.present("skiplist_words"))
    for (const JsonField& word : words->elements()) skipped_words_.push_back(word.text());
  if (const auto tasks = config.present("skiplist_tasks")) {
    max_sim.skips_queries = max_sim.skips_documents = false;
    const auto add = [&](const JsonField& task) {
      max_sim.skips_queries = max_sim.skips_queries || task.text() == "query";
      max_sim.skips_documents = max_sim.skips_documents || task.text() == "document";
    };
    if (tasks->is_text()) {
      add(*tasks);
    } else {
      for (const JsonField& task : tasks->elements()) add(task);
    }
  }
  if (const auto kept = config.present("keep_only_token_ids"))
    for (const JsonField& id : kept->elements()) max_sim.kept.push_back(id.whole<std::int32_t>(0));
}

void ModuleChain::normalize() {
  steps_.push_back({.kind = HeadStep::Kind::normalize, .name = next_name()});
}

Result<bool> ModuleChain::add(const fs::path& folder, const ListedModule& module,
                              std::vector<fs::path>& paths) {
  const bool of_tokens = input_ == ModuleInput::tokens;
  const fs::path path = folder / module.path / "config.json";
  const auto read = [&](const auto& take) -> Status {
    paths.push_back(path);
    return read_json_file(path, "module's configuration", take);
  };
  // A module without a configuration uses the defaults.
  const auto read_or_empty = [&](const auto& take) -> Status {
    const Result<bool> there = is_present(path);
    if (!there) return tl::unexpected(there.error());
    return *there ? read(take) : with_json(std::string_view("{}"), path.string(), take);
  };
  const std::string_view type = module.type;
  Status taken;
  bool has_weights = true;
  if (type == "Pooling" && !of_tokens && !has_pooling_) {
    taken = read([&](const JsonField& config) { add_pooling(config); });
  } else if (type == "Dense" && (of_tokens || has_pooling_)) {
    taken = read([&](const JsonField& config) { add_dense(config, module.path); });
  } else if (type == "LayerNorm" && has_pooling_) {
    taken = read([&](const JsonField& config) { add_norm(config, module.path); });
  } else if (type == "Normalize" && (of_tokens || has_pooling_)) {
    has_weights = false;
    taken = read_or_empty([&](const JsonField& config) { add_normalize(config); });
  } else if (type == "Dropout" && has_pooling_) {
    has_weights = false;
  } else if (type == "MultiVectorMask" && of_tokens && has_mask_) {
    return fail(
        "{}: lists MultiVectorMask twice, which is not supported; write one with all "
        "'skiplist_words'",
        (folder / "modules.json").string());
  } else if (type == "MultiVectorMask" && of_tokens) {
    has_weights = false;
    has_mask_ = true;
    taken = read_or_empty([&](const JsonField& config) { add_mask(config); });
  } else {
    return fail("{}: lists the module '{}', which is not supported{}; supported are {}",
                (folder / "modules.json").string(), in_a_sentence(type),
                of_tokens || has_pooling_ ? "" : " before a Pooling",
                of_tokens ? "Dense, Normalize and MultiVectorMask"
                          : "Pooling, then Dense, LayerNorm, Normalize and Dropout");
  }
  if (!taken) return tl::unexpected(taken.error());
  return has_weights;
}

Result<HeadConfig> ModuleChain::finish(std::string_view source) && {
  const bool of_tokens = input_ == ModuleInput::tokens;
  if (!of_tokens && scores_.empty()) {
    return fail(
        "{}: the modules after the encoder compute no scores; add a Pooling and a Dense with "
        "\"module_output_name\": \"scores\" do",
        source);
  }
  head_.steps = of_tokens ? std::move(steps_) : std::move(scores_);
  return std::move(head_);
}

std::string_view ModuleChain::usual_name() const {
  return input_ == ModuleInput::tokens ? "token_embeddings" : "sentence_embedding";
}

std::string ModuleChain::next_name() const {
  return fmt::format("head.{}", steps_.size());
}

MultiVectorFiles read_pylate(const JsonField& config) {
  MultiVectorFiles files;
  files.texts.form = MultiVectorForm::pylate;
  files.head.max_sim.emplace();
  files.texts.query = {.marker = text_or(config, "query_prefix", "[Q] "),
                       .length = length_or(config, "query_length", usual_query_length)};
  files.texts.document = {.marker = text_or(config, "document_prefix", "[D] "),
                          .length = length_or(config, "document_length", usual_document_length)};
  if (const auto name = config.present("default_prompt_name")) {
    const auto prompts = config.present("prompts");
    if (!prompts || !prompts->member(name->text())) {
      name->wrong(
          fmt::format("is '{}', which 'prompts' does not have", in_a_sentence(name->text())));
    }
    files.texts.query.prompt = files.texts.document.prompt = prompt_named(config, name->text());
  }
  const bool expands = read_flag(config, "do_query_expansion", true);
  if (expands) files.texts.expansion_length = files.texts.query.length;
  files.head.max_sim->attends_to_expansion =
      expands && read_flag(config, "attend_to_expansion_tokens", false);
  files.texts.skipped_words = punctuation();
  if (const auto words = config.present("skiplist_words")) {
    files.texts.skipped_words.clear();
    for (const JsonField& word : words->elements())
      files.texts.skipped_words.push_back(word.text());
  }
  files.texts.skips_unknown = files.texts.strips = true;
  return files;
}

MultiVectorFiles read_multi_vector_encoder(const JsonField& config) {
  for (const char* name : {"query_prefix", "document_prefix", "query_length", "document_length",
                           "query_expansion", "do_query_expansion", "attend_to_expansion_tokens",
                           "attend_to_mask_tokens", "skiplist_words"}) {
    const auto field = config.member(name);
    if (!field) continue;
    field->wrong(
        "is a setting of PyLate in a folder of a MultiVectorEncoder; load the folder with "
        "sentence-transformers and save it again, which moves the setting");
  }
  MultiVectorFiles files;
  files.texts.form = MultiVectorForm::sentence_transformers;
  MaxSimConfig& max_sim = files.head.max_sim.emplace();
  max_sim.expansion_scores = false;  // unless there is a MultiVectorMask
  max_sim.skips_documents = false;
  files.texts.query.prompt = prompt_named(config, "query");
  files.texts.document.prompt = prompt_named(config, "document");
  max_sim.averages = text_or(config, "similarity_fn_name", "maxsim") == "meanmaxsim";
  return files;
}

void read_text_lengths(const JsonField& config, MultiVectorFiles& files) {
  files.texts.query.length = length_or(config, "query_length", 0);
  files.texts.document.length = length_or(config, "document_length", 0);
  if (const auto expansion = config.member("query_expansion")) read_expansion(*expansion, files);
  if (files.texts.expansion_length > 0 && files.texts.cuts_to_expansion)
    files.texts.query.length = files.texts.expansion_length;
}

void limit_texts(std::int64_t most_tokens, MultiVectorFiles& files) {
  if (files.texts.form == MultiVectorForm::pylate) return;
  files.texts.document.length = most_tokens;
  if (files.texts.expansion_length == 0 || !files.texts.cuts_to_expansion)
    files.texts.query.length = most_tokens;
}

Result<std::optional<MultiVectorFiles>> read_stanford(const fs::path& folder,
                                                      std::vector<fs::path>& paths) {
  const fs::path config = folder / "config.json", metadata = folder / "artifact.metadata";
  const Result<bool> there = is_present(config);
  if (!there) return tl::unexpected(there.error());
  if (!*there) return std::optional<MultiVectorFiles>();
  std::optional<MultiVectorFiles> files;
  const auto read_config = [&](const JsonField& root) {
    const auto list = root.is_object() ? root.present("architectures") : std::nullopt;
    if (!list || !list->is_list()) return;
    for (const JsonField& name : list->elements()) {
      if (!name.is_text() || name.text() != "HF_ColBERT") continue;
      files.emplace();
    }
  };
  if (Status read = read_json_file(config, "model's configuration", read_config); !read)
    return tl::unexpected(read.error());
  if (!files) return files;
  files->head.max_sim.emplace();
  files->texts.query = {.marker = "[unused0]", .length = usual_query_length};
  files->texts.document = {.marker = "[unused1]", .length = usual_document_length};
  files->texts.skipped_words = punctuation();
  files->texts.skips_unknown = files->texts.strips = true;
  const Result<bool> has_metadata = is_present(metadata);
  if (!has_metadata) return tl::unexpected(has_metadata.error());
  const auto read_metadata = [&](const JsonField& root) {
    if (!root.is_object()) root.must_be("an object {...}");
    if (const auto wrapped = root.member("config")) {
      wrapped->wrong(
          "has the settings, but ColBERT's libraries do not read them there; move its fields to "
          "the top level");
    }
    files->texts.query.marker = text_or(root, "query_token_id", "[unused0]");
    files->texts.document.marker = text_or(root, "doc_token_id", "[unused1]");
    files->texts.query.length = length_or(root, "query_maxlen", usual_query_length);
    files->texts.document.length = length_or(root, "doc_maxlen", usual_document_length);
    files->head.max_sim->attends_to_expansion = read_flag(root, "attend_to_mask_tokens", false);
    if (!read_flag(root, "mask_punctuation", true)) files->texts.skipped_words.clear();
    must_state(root, "similarity", "cosine");
  };
  if (*has_metadata) {
    paths.push_back(metadata);
    if (Status read = read_json_file(metadata, "metadata of ColBERT", read_metadata); !read)
      return tl::unexpected(read.error());
  }
  files->texts.expansion_length = files->texts.query.length;
  // Its input width is that of the encoder, its output width the number of rows of the weights.
  files->head.steps = {{.name = "head.0", .in_file = "linear", .bias = false},
                       {.kind = HeadStep::Kind::normalize, .name = "head.1"}};
  return files;
}

}  // namespace attnscope
