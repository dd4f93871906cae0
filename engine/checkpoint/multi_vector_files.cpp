// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/multi_vector_files.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/sentence_modules.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t usual_query_length = 32, usual_document_length = 180;

/// The 32 ASCII punctuation characters.
std::vector<std::string> punctuation() {
  std::vector<std::string> marks;
  for (const char mark : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
    marks.emplace_back(1, mark);
  return marks;
}

std::int64_t length_or(const JsonField& config, std::string_view name, std::int64_t usual) {
  const auto field = present_field(config, name);
  return field ? field->whole(1, most_rows) : usual;
}

std::string text_or(const JsonField& config, std::string_view name, std::string_view usual) {
  const auto field = present_field(config, name);
  return field ? field->text() : std::string(usual);
}

/// The text of a prompt by its name; empty if there is none.
std::string prompt_named(const JsonField& config, std::string_view name) {
  const auto prompts = present_field(config, "prompts");
  const auto prompt = prompts ? present_field(*prompts, name) : std::nullopt;
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

MultiVectorFiles read_pylate(const JsonField& config) {
  MultiVectorFiles files;
  files.texts.form = MultiVectorForm::pylate;
  files.head.max_sim.emplace();
  files.texts.query = {.marker = text_or(config, "query_prefix", "[Q] "),
                       .length = length_or(config, "query_length", usual_query_length)};
  files.texts.document = {.marker = text_or(config, "document_prefix", "[D] "),
                          .length = length_or(config, "document_length", usual_document_length)};
  if (const auto name = present_field(config, "default_prompt_name")) {
    const auto prompts = present_field(config, "prompts");
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
  if (const auto words = present_field(config, "skiplist_words")) {
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
        "is PyLate's, in a folder of a MultiVectorEncoder; load it with sentence-transformers and "
        "save it again, which writes the settings where they are read");
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
    const auto list = root.is_object() ? present_field(root, "architectures") : std::nullopt;
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
          "holds the settings, which ColBERT's libraries do not read there; move its "
          "fields to the top level");
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
