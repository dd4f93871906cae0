// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/training_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/ranking/training_curve.h"
#include "engine/safetensors/safetensors.h"
#include "engine/text/text_collection.h"
#include "engine/text/tokenizer.h"

namespace attnscope {
namespace {

/// Repeats the text in upper case until it has about `tokens` tokens.
std::string longer_than(const std::string& text, std::int64_t tokens) {
  constexpr std::size_t bytes_of_token = 16;
  const std::size_t enough = bytes_of_token * static_cast<std::size_t>(tokens);
  std::string capitals = text;
  for (char& c : capitals)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::string all;
  for (std::int64_t i = 0; i <= tokens && all.size() < enough; ++i) all += capitals + " ";
  return all;
}

}  // namespace

Result<std::vector<TextPair>> TrainingData::some_pairs() {
  constexpr std::int64_t few = 3;
  std::vector<TextPair> pairs;
  for (std::int64_t i = 0; i < std::min(few, file_.size()); ++i) {
    auto line = file_.line(i);
    if (!line) return tl::unexpected(line.error());
    if (Status found = look_up(*line); !found)
      return fail("{}: {}", file_.place(line->number), found.error().message);
    for (std::size_t d = 0; d < 2; ++d)
      pairs.push_back({.query = line->query, .document = line->documents[d]});
    if (i > 0) continue;
    const std::int64_t most = model_.limits.most_tokens;
    const std::string document = longer_than(line->documents.front(), most);
    pairs.push_back({.query = line->query, .document = document});
    pairs.push_back({.query = longer_than(line->query, most), .document = document});
  }
  return pairs;
}

Result<protocol::TrainStepRequest> TrainingData::request_of(std::int64_t step) {
  protocol::TrainStepRequest request{.cls = model_.tokenizer->cls()};
  std::int64_t at = (step - 1) * groups_of_step();
  for (std::int64_t a = 0; a < shape_.accumulate; ++a) {
    std::vector<protocol::TrainGroup>& batch = request.batches.emplace_back();
    for (std::int64_t i = 0; i < shape_.batch; ++i) {
      auto group = group_at(at++);
      if (!group) return tl::unexpected(group.error());
      batch.push_back(std::move(*group));
    }
  }
  return request;
}

Result<protocol::TrainGroup> TrainingData::group_at(std::int64_t at) {
  const std::int64_t epoch = at / file_.size();
  if (epoch != epoch_) {
    order_ = drawn_order(file_.size(), static_cast<std::uint64_t>(shape_.seed), epoch);
    epoch_ = epoch;
  }
  auto line = file_.line(order_[static_cast<std::size_t>(at % file_.size())]);
  if (!line) return tl::unexpected(line.error());
  if (Status found = look_up(*line); !found)
    return fail("{}: {}", file_.place(line->number), found.error().message);
  protocol::TrainGroup group;
  for (const std::string& document : line->documents) {
    auto pair = model_.tokenizer->encode(line->query, document, model_.limits);
    if (!pair) return fail("{}: {}", file_.place(line->number), pair.error().message);
    group.query = std::move(pair->query);
    group.documents.push_back(std::move(pair->document));
  }
  if (shape_.with_margin) group.margin = line->margin;
  return group;
}

Status TrainingData::look_up(TrainingLine& line) {
  if (!texts_) return {};
  const auto replace = [](TextCollection& texts, std::string_view what, std::string& id) -> Status {
    auto text = texts.find(id);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return fail("its {} '{}' is not in {}", what, in_a_sentence(id), texts.name());
    id = std::move(**text);
    return {};
  };
  for (std::string& document : line.documents) {
    if (Status found = replace(texts_->documents, "document", document); !found) return found;
  }
  return replace(texts_->queries, "query", line.query);
}

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t longest_train_name = 400;

/// Fingerprints, by file name, of the inputs that affect the trained weights or the curve.
Result<json> contents_read(const TrainRunOptions& options, const ScoringModel& model,
                           const std::atomic<int>& interrupted) {
  std::map<std::string, fs::path> files{{"--triples", options.triples},
                                        {"--queries", options.queries},
                                        {"--documents", options.documents},
                                        {"--validate-run", options.validate_run},
                                        {"--validate-qrels", options.validate_qrels},
                                        {"--validate-queries", options.validate_queries},
                                        {"--validate-documents", options.validate_documents}};
  for (const fs::path& file : model.files) {
    // The contents of a pattern file are part of the settings.
    if (file == fs::path(options.question.pattern)) continue;
    const fs::path inside = file.lexically_relative(model.place.folder);
    files.emplace(inside.empty() ? file.string() : inside.string(), file);
  }
  json fingerprints = json::object();
  for (const auto& [name, file] : files) {
    std::error_code failed;
    if (file.empty() || !fs::exists(file, failed)) continue;
    if (interrupted > 0) return fail("interrupted");
    const auto fingerprint = fingerprint_of_file(file);
    if (!fingerprint) return tl::unexpected(fingerprint.error());
    fingerprints[name] = fmt::format("{:016x}", *fingerprint);
  }
  return fingerprints;
}

/// Ok, or the files whose contents differ, or that only one of the trainings has.
Status same_contents(const json& now, const json& then, const fs::path& state) {
  json all = now;
  all.update(then);
  std::vector<std::string> others;
  for (const auto& [name, any] : all.items()) {
    if (now.value(name, json()) != then.value(name, json())) others.push_back(in_a_sentence(name));
  }
  if (others.empty()) return {};
  return fail(
      "{}: is from a training that read other contents of {}; give the same contents, --restart, "
      "or another folder",
      in_a_sentence(state.string(), longest_train_name), fmt::join(others, ", "));
}

/// Locks the folder: only one training at a time writes into it. On a file system without locks
/// there is no protection.
Result<FolderClaim> lock_folder(const fs::path& folder) {
  const int number = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number < 0) return fail("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  auto claimed = std::make_shared<Descriptor>();
  if (!claimed->take(number))
    return fail("{}: cannot be locked: {}", folder.string(), std::strerror(errno));
  if (::flock(claimed->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail("{}: another training writes into it; stop that training, or name another folder",
                folder.string());
  }
  return FolderClaim(std::move(claimed));
}

/// Every file that a training may write into its folder, except the list of files.
std::vector<std::string> written_files() {
  std::vector<std::string> names{trained_model_file, training_state_file,
                                 std::string(training_curve_file), validation_file};
  for (std::string& name : trained_folder_files()) names.push_back(std::move(name));
  return names;
}

constexpr const char* list_file = "attnscope-files.json";

/// The files among them that an earlier training has listed as its own: none without a list.
Result<std::vector<std::string>> listed_files(const TrainRunOptions& options) {
  constexpr std::uintmax_t most_bytes = 1U << 16U;
  const fs::path file = options.in_folder(list_file);
  std::error_code failed;
  if (!fs::exists(file, failed)) return std::vector<std::string>();
  const auto text = read_text_file(file, "list of a training's files", most_bytes);
  if (!text) return tl::unexpected(text.error());
  const json list = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_object() || !list.value("files", json()).is_array())
    return fail("{}: is not a list of a training's files; name another folder", file.string());
  std::vector<std::string> names = written_files();
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(list["files"], json(name)) == list["files"].end();
  });
  return names;
}

/// Ok if a training wrote every file in the folder and none of them is an input of this one.
Status has_only(const std::vector<std::string>& listed, const TrainRunOptions& options) {
  std::vector<std::string> names = written_files();
  names.emplace_back(list_file);
  for (const std::string& name : names) {
    if (Status may = may_be_written(options.in_folder(name)); !may) return may;
  }
  std::vector<std::string> own = listed;
  own.emplace_back(list_file);
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(options.out, failed)) {
    const std::string file = entry.path().filename().string();
    // A killed command leaves temporary files.
    const bool is_own = std::ranges::any_of(
        own, [&](const std::string& name) { return file == name || is_part_of(name, file); });
    if (is_own && !is_read(entry.path())) continue;
    return fail(
        "{}: contains '{}', which no training has listed in {}; move it elsewhere, or name another "
        "folder",
        in_a_sentence(options.out, longest_train_name), in_a_sentence(file), list_file);
  }
  if (failed) return fail("{}: cannot be read: {}", options.out, failed.message());
  return {};
}

}  // namespace

json to_json(const std::optional<KeptStep>& kept) {
  return kept ? json{{"step", kept->step}, {"nDCG@10", kept->ndcg}} : json();
}

std::optional<KeptStep> kept_step(const json& kept) {
  if (!kept.is_object()) return std::nullopt;
  return KeptStep{.step = kept.value("step", std::int64_t{0}), .ndcg = kept.value("nDCG@10", 0.0)};
}

Result<json> training_settings(const TrainRunOptions& options, const ScoringModel& model,
                               std::int64_t triples, const std::atomic<int>& interrupted) {
  auto contents = contents_read(options, model, interrupted);
  if (!contents) return contents;
  json settings = as_json(model.request);
  settings.erase("threads");  // the worker determines them
  settings.update({{"contents", std::move(*contents)},
                   {"max_tokens", model.limits.most_tokens},
                   {"max_query_tokens", model.limits.most_query_tokens},
                   {"triples", fs::absolute(options.triples).string()},
                   {"lines", triples},
                   {"objective", options.objective()},
                   {"steps", options.steps},
                   {"batch", options.shape.batch},
                   {"accumulate", options.shape.accumulate},
                   {"learning_rate", options.learning_rate},
                   {"warm_up", options.warm_up_steps()},
                   {"schedule", options.schedule},
                   {"weight_decay", options.weight_decay},
                   {"clip", options.clip},
                   {"seed", options.shape.seed}});
  if (options.validates()) {
    settings["validate_every"] = options.steps_to_validation();
    settings["run_columns"] = static_cast<int>(options.third_column);
  }
  if (options.keeps_best()) settings["keep"] = "best";
  return settings;
}

Status same_settings(const json& now, const json& then, const fs::path& state) {
  const json none = json::object();
  if (Status same = same_contents(now.value("contents", none), then.value("contents", none), state);
      !same) {
    return same;
  }
  const auto word = [](const json& value) {
    return value.is_null() ? std::string("not given") : in_a_sentence(value.dump());
  };
  json all = now;
  all.update(then);
  for (const auto& [key, any] : all.items()) {
    const json before = then.value(key, json()), value = now.value(key, json());
    if (before == value) continue;
    return fail(
        "{}: is from a training with {} {}, which is now {}; give the same value, --restart, or "
        "another folder",
        in_a_sentence(state.string(), longest_train_name), key, word(before), word(value));
  }
  return {};
}

Status prepare_folder(const TrainRunOptions& options, const FoundState& found) {
  std::error_code failed;
  for (const std::string& name : found.replaced) fs::remove(options.in_folder(name), failed);
  return write_file(
      options.in_folder(list_file),
      json{{"written by", "attnscope train"}, {"files", written_files()}}.dump(2) + "\n");
}

Result<FoundState> claim_folder(const TrainRunOptions& options, const json& settings) {
  std::error_code failed;
  fs::create_directories(options.out, failed);
  if (failed) {
    return fail("{}: cannot be created: {}; name another folder", options.out, failed.message());
  }
  if (fs::equivalent(options.out, settings["checkpoint"].get<std::string>(), failed))
    return fail("-o is the folder of the checkpoint; name another folder");
  auto claimed = lock_folder(options.out);
  if (!claimed) return tl::unexpected(claimed.error());
  const fs::path state = options.in_folder(training_state_file);
  const auto listed = listed_files(options);
  if (!listed) return tl::unexpected(listed.error());
  if (Status own = has_only(*listed, options); !own) return tl::unexpected(own.error());
  if (options.restart || !fs::exists(state, failed)) {
    if (!options.restart && fs::exists(options.in_folder(trained_model_file), failed)) {
      return fail("{}: already contains a model; name another folder, or give --restart",
                  options.out);
    }
    return FoundState{.claim = std::move(*claimed),
                      .is_there = false,
                      .kept = {},
                      .settings = {},
                      .replaced = options.restart ? *listed : std::vector<std::string>()};
  }
  const auto file = SafetensorsFile::open(state);
  const Status whole = file ? file->check_sum() : tl::unexpected(file.error());
  if (!whole) {
    return fail("{}; restart with --restart, or name another folder", whole.error().message);
  }
  const auto text = file->metadata("settings");
  if (!text) return tl::unexpected(text.error());
  const json then = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!then.is_object()) return fail("{}: has settings that are not JSON", state.string());
  // The worker determines the number of threads.
  json requested = settings;
  requested["threads"] = then.value("threads", json());
  if (Status same = same_settings(requested, then, state); !same)
    return tl::unexpected(same.error());
  FoundState found{
      .claim = std::move(*claimed), .is_there = true, .kept = std::nullopt, .settings = then};
  if (const auto kept = file->metadata("kept"))
    found.kept = kept_step(json::parse(*kept, nullptr, /*allow_exceptions=*/false));
  return found;
}

}  // namespace attnscope
