// SPDX-License-Identifier: GPL-3.0-or-later
//
// train: fine-tunes a cross-encoder with any pattern on triples, and writes a folder in Hugging
// Face's layout. After a crash, the same command resumes from the last state. This file parses and
// checks the arguments before a worker starts; train_run.h runs the steps.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/reranked_pairs.h"
#include "app/cli/train_run.h"
#include "app/cli/worker_requests.h"
#include "base/read_files.h"
#include "base/sentences.h"
#include "base/text_file.h"
#include "base/written_file.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/hub_cache.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/safetensors/safetensors.h"
#include "engine/text/beir_folder.h"
#include "engine/text/training_file.h"

namespace attnscope::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t longest_train_name = 400;

/// Fingerprints, by file name, of the inputs that affect the trained weights or the curve.
Result<json> contents_read(const TrainArguments& arguments, const ScoringModel& model) {
  std::map<std::string, fs::path> files{{"--triples", arguments.triples},
                                        {"--queries", arguments.queries},
                                        {"--documents", arguments.documents},
                                        {"--validate-run", arguments.validate_run},
                                        {"--validate-qrels", arguments.validate_qrels},
                                        {"--validate-queries", arguments.validate_queries},
                                        {"--validate-documents", arguments.validate_documents}};
  for (const fs::path& file : model.files) {
    // The contents of a pattern file are part of the settings.
    if (file == fs::path(arguments.model.question.pattern)) continue;
    const fs::path inside = file.lexically_relative(model.place.folder);
    files.emplace(inside.empty() ? file.string() : inside.string(), file);
  }
  json fingerprints = json::object();
  for (const auto& [name, file] : files) {
    std::error_code failed;
    if (file.empty() || !fs::exists(file, failed)) continue;
    if (interrupts() > 0) return fail("interrupted");
    const auto fingerprint = fingerprint_of_file(file);
    if (!fingerprint) return tl::unexpected(fingerprint.error());
    fingerprints[name] = fmt::format("{:016x}", *fingerprint);
  }
  return fingerprints;
}

/// Settings that affect the trained weights: a state with other settings belongs to another
/// training.
Result<json> settings_of(const TrainArguments& arguments, const ScoringModel& model,
                         std::int64_t triples) {
  auto contents = contents_read(arguments, model);
  if (!contents) return contents;
  json settings = model.request;
  settings.erase("request");
  settings.update({{"contents", std::move(*contents)},
                   {"max_tokens", model.limits.most_tokens},
                   {"max_query_tokens", model.limits.most_query_tokens},
                   {"triples", fs::absolute(arguments.triples).string()},
                   {"lines", triples},
                   {"objective", arguments.objective()},
                   {"steps", arguments.steps},
                   {"batch", arguments.shape.batch},
                   {"accumulate", arguments.shape.accumulate},
                   {"learning_rate", arguments.learning_rate},
                   {"warm_up", arguments.warm_up_steps()},
                   {"schedule", arguments.schedule},
                   {"weight_decay", arguments.weight_decay},
                   {"clip", arguments.clip},
                   {"seed", arguments.shape.seed}});
  if (arguments.validates()) {
    settings["validate_every"] = arguments.steps_to_validation();
    settings["run_columns"] = static_cast<int>(arguments.third_column);
  }
  if (arguments.keeps_best()) settings["keep"] = "best";
  return settings;
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
      "{}: is of a training that read other contents of {}; give the same, --restart, or another "
      "folder",
      in_a_sentence(state.string(), longest_train_name), fmt::join(others, ", "));
}

/// Ok, or the first setting that differs; one that only the other training has counts as null.
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
        "{}: is of a training with {} {}, and now it is {}; give the same, --restart, or another "
        "folder",
        in_a_sentence(state.string(), longest_train_name), key, word(before), word(value));
  }
  return {};
}

Result<TrainingFile> open_triples(const TrainArguments& arguments) {
  CountLine progress(isatty(STDERR_FILENO) == 1);
  auto file = TrainingFile::open(
      arguments.triples,
      {.with_margin = arguments.margin_mse, .many_negatives = arguments.localized_ce},
      [&](double share) {
        progress.show(fmt::format("{:.0f} % of {} read", share * 100, arguments.triples), share,
                      share);
        return interrupts() == 0;
      });
  progress.clear();
  if (file) note(file->notes());
  return file;
}

/// Uses a data set's files in place of individually named ones.
Status take_beir(TrainArguments& arguments) {
  if (!arguments.beir.is_given()) return {};
  if (!arguments.queries.empty() || !arguments.documents.empty())
    return fail("--beir has queries and documents; leave --queries and --documents out");
  const auto folder = BeirFolder::open(arguments.beir.folder);
  if (!folder) return tl::unexpected(folder.error());
  arguments.queries = folder->queries.string();
  arguments.documents = folder->corpus.string();
  if (!arguments.validates() || !arguments.validate_qrels.empty()) return {};
  const auto qrels = folder->qrels(arguments.beir.split);
  if (!qrels) return tl::unexpected(qrels.error());
  arguments.validate_qrels = qrels->string();
  return {};
}

Result<std::optional<RerankedTexts>> open_id_texts(const TrainArguments& arguments) {
  if (arguments.queries.empty() != arguments.documents.empty())
    return fail("--queries and --documents are given together, for triples of ids");
  if (arguments.queries.empty()) return std::optional<RerankedTexts>();
  return open_texts(arguments.queries, arguments.documents).map([](RerankedTexts&& texts) {
    return std::optional(std::move(texts));
  });
}

Result<std::optional<Validation>> open_validation(const TrainArguments& arguments) {
  const std::string& queries =
      arguments.validate_queries.empty() ? arguments.queries : arguments.validate_queries;
  const std::string& documents =
      arguments.validate_documents.empty() ? arguments.documents : arguments.validate_documents;
  if (!arguments.validates()) {
    if (arguments.keep == "best")
      return fail("--keep best needs a validation to tell it by; give --validate-run");
    if (!arguments.validate_qrels.empty() || !arguments.validate_queries.empty() ||
        !arguments.validate_documents.empty()) {
      return fail("a validation ranks a run anew; give it with --validate-run");
    }
    return std::optional<Validation>();
  }
  if (queries.empty() || documents.empty() || arguments.validate_qrels.empty()) {
    return fail(
        "--validate-run needs --validate-qrels and the texts: --validate-queries and "
        "--validate-documents");
  }
  auto run = effectiveness::TrecRun::read(arguments.validate_run, arguments.third_column);
  if (!run) return tl::unexpected(run.error());
  auto qrels = effectiveness::Qrels::read(arguments.validate_qrels);
  if (!qrels) return tl::unexpected(qrels.error());
  if (std::ranges::none_of(
          run->queries, [&](const auto& query) { return qrels->queries.contains(query.first); })) {
    return fail("{}: has no query that {} judges, so nothing can be validated",
                arguments.validate_run, arguments.validate_qrels);
  }
  auto texts = open_texts(queries, documents);
  if (!texts) return tl::unexpected(texts.error());
  Validation validation{std::move(*run), std::move(*qrels), std::move(*texts)};
  if (Status found = find_texts(validation.run, validation_depth, validation.texts); !found)
    return tl::unexpected(found.error());
  return std::optional(std::move(validation));
}

/// Locks the folder: only one training at a time writes into it. On a file system without locks
/// there is no protection.
Result<FolderClaim> claim(const fs::path& folder) {
  const int number = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number < 0) return fail("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  FolderClaim claimed(new int(number), [](const int* open) {
    ::close(*open);
    delete open;
  });
  if (::flock(number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail("{}: another training writes into it; stop that one, or name another folder",
                folder.string());
  }
  return claimed;
}

/// A state to resume, if there is one.
struct FoundState {
  FolderClaim claim;
  bool is_there = false;
  std::optional<KeptStep> kept;
  json settings;
};

/// Every file that a training may write into its folder, except the list of files.
std::vector<std::string> written_files() {
  std::vector<std::string> names{trained_model_file, training_state_file,
                                 std::string(report::training_curve_file), validation_file};
  for (std::string& name : trained_folder_files()) names.push_back(std::move(name));
  return names;
}

constexpr const char* list_file = "attnscope-files.json";

/// The files among them that an earlier training has listed as its own: none without a list.
Result<std::vector<std::string>> listed_files(const TrainArguments& arguments) {
  constexpr std::uintmax_t most_bytes = 1U << 16U;
  const fs::path file = arguments.in_folder(list_file);
  std::error_code failed;
  if (!fs::exists(file, failed)) return std::vector<std::string>();
  const auto text = read_text_file(file, "list of a training's files", most_bytes);
  if (!text) return tl::unexpected(text.error());
  const json list = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_object() || !list.value("files", json()).is_array())
    return fail("{}: is no list of a training's files; name another folder", file.string());
  std::vector<std::string> names = written_files();
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(list["files"], json(name)) == list["files"].end();
  });
  return names;
}

/// Whether a file is one of these, or a temporary file of one that a killed command left.
bool is_one_of(const std::vector<std::string>& names, const std::string& file) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return file == name || is_part_of(name, file); });
}

/// Ok if a training wrote every file in the folder and none of them is an input of this one.
Status has_only(const std::vector<std::string>& listed, const TrainArguments& arguments) {
  std::vector<std::string> names = written_files();
  names.emplace_back(list_file);
  for (const std::string& name : names) {
    if (Status may = may_be_written(arguments.in_folder(name)); !may) return may;
  }
  std::vector<std::string> own = listed;
  own.emplace_back(list_file);
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(arguments.out, failed)) {
    const std::string file = entry.path().filename().string();
    if (is_one_of(own, file) && !is_read(entry.path())) continue;
    return fail(
        "{}: holds '{}', which no training has listed in {}; move it away, or name another folder",
        in_a_sentence(arguments.out, longest_train_name), in_a_sentence(file), list_file);
  }
  if (failed) return fail("{}: cannot be read: {}", arguments.out, failed.message());
  return {};
}

/// Lists all files in it as this training's; with --restart, removes those of an earlier training.
Status take_folder(const TrainArguments& arguments) {
  if (arguments.restart) {
    const auto listed = listed_files(arguments);
    if (!listed) return tl::unexpected(listed.error());
    std::error_code failed;
    for (const std::string& name : *listed) fs::remove(arguments.in_folder(name), failed);
  }
  return write_file(
      arguments.in_folder(list_file),
      json{{"written by", "attnscope train"}, {"files", written_files()}}.dump(2) + "\n");
}

/// Checks that the training may write into the folder.
Result<FoundState> look_into_folder(const TrainArguments& arguments, const json& settings) {
  std::error_code failed;
  fs::create_directories(arguments.out, failed);
  if (failed) {
    return fail("{}: cannot be made: {}; name another folder", arguments.out, failed.message());
  }
  if (fs::equivalent(arguments.out, settings["checkpoint"].get<std::string>(), failed))
    return fail("-o names the checkpoint's own folder; name another");
  auto claimed = claim(arguments.out);
  if (!claimed) return tl::unexpected(claimed.error());
  const fs::path state = arguments.in_folder(training_state_file);
  const auto listed = listed_files(arguments);
  if (!listed) return tl::unexpected(listed.error());
  if (Status own = has_only(*listed, arguments); !own) return tl::unexpected(own.error());
  if (arguments.restart || !fs::exists(state, failed)) {
    if (!arguments.restart && fs::exists(arguments.in_folder(trained_model_file), failed)) {
      return fail("{}: there is a model in it already; name another folder, or give --restart",
                  arguments.out);
    }
    return FoundState{.claim = std::move(*claimed), .is_there = false, .kept = {}, .settings = {}};
  }
  const auto file = SafetensorsFile::open(state);
  const Status whole = file ? file->check_sum() : tl::unexpected(file.error());
  if (!whole) {
    return fail("{}; begin anew with --restart, or name another folder", whole.error().message);
  }
  const auto text = file->metadata("settings");
  if (!text) return tl::unexpected(text.error());
  const json then = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!then.is_object()) return fail("{}: has settings that are no JSON", state.string());
  // The worker determines the number of threads.
  json asked = settings;
  asked["threads"] = then.value("threads", json());
  if (Status same = same_settings(asked, then, state); !same) return tl::unexpected(same.error());
  FoundState found{
      .claim = std::move(*claimed), .is_there = true, .kept = std::nullopt, .settings = then};
  if (const auto kept = file->metadata("kept"))
    found.kept = kept_step(json::parse(*kept, nullptr, /*allow_exceptions=*/false));
  return found;
}

/// Checks the model family first: labels and options are irrelevant if it cannot be trained.
Status can_be_trained(const std::string& checkpoint) {
  const auto place = find_checkpoint(checkpoint);
  if (!place) return tl::unexpected(place.error());
  const auto opened = Checkpoint::open(place->folder);
  if (!opened) return tl::unexpected(opened.error());
  return may_be_trained(*opened, place->name);
}

Result<ReadyToTrain> prepare(const TrainArguments& arguments) {
  const int objectives = static_cast<int>(arguments.margin_mse) +
                         static_cast<int>(arguments.ranknet) +
                         static_cast<int>(arguments.localized_ce);
  if (objectives != 1)
    return fail("choose an objective: one of --margin-mse, --ranknet and --localized-ce");
  // All groups of an update are read before it begins.
  constexpr std::int64_t most_groups = 1 << 20;
  if (arguments.shape.batch > most_groups / arguments.shape.accumulate) {
    return fail(
        "--batch {} --gradient-accumulation {} are more than the {} groups that one update may "
        "have",
        arguments.shape.batch, arguments.shape.accumulate, most_groups);
  }
  if (arguments.warm_up_steps() > arguments.steps) {
    return fail(
        "--warmup-steps {} is more than --steps {}, so that the learning rate would never be "
        "reached; "
        "take fewer, or leave it out",
        arguments.warm_up_steps(), arguments.steps);
  }
  if (Status can = can_be_trained(arguments.model.checkpoint); !can)
    return tl::unexpected(can.error());
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (model->request["dtype"] == "float16")
    return fail("--dtype float16 has no room for small gradients; take float32 or bfloat16");
  auto file = open_triples(arguments);
  if (!file) return tl::unexpected(file.error());
  auto texts = open_id_texts(arguments);
  if (!texts) return tl::unexpected(texts.error());
  auto validation = open_validation(arguments);
  if (!validation) return tl::unexpected(validation.error());
  auto settings = settings_of(arguments, *model, file->size());
  if (!settings) return tl::unexpected(settings.error());
  auto state = look_into_folder(arguments, *settings);
  if (!state) return tl::unexpected(state.error());
  return ReadyToTrain{std::move(*model),       std::move(*file),     std::move(*texts),
                      std::move(*validation),  std::move(*settings), std::move(state->settings),
                      std::move(state->claim), state->is_there,      state->kept};
}

json begin_request(const TrainArguments& arguments, const ReadyToTrain& ready) {
  json request = ready.model.request;
  request["request"] = "begin-training";
  request["objective"] = arguments.objective();
  request["learning_rate"] = arguments.learning_rate;
  request["warm_up"] = arguments.warm_up_steps();
  request["steps"] = arguments.steps;
  request["schedule"] = arguments.schedule;
  request["weight_decay"] = arguments.weight_decay;
  request["clip"] = arguments.clip;
  request["recompute"] = arguments.recompute;
  request["seed"] = arguments.shape.seed;
  request["resume"] = ready.resumes
                          ? json(fs::absolute(arguments.in_folder(training_state_file)).string())
                          : json();
  return request;
}

void train(Session& session, const TrainArguments& arguments) {
  catch_interrupts();
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader of the events must not end the training
  auto ready = prepare(arguments);
  if (interrupts() > 0) return session.fail(exit_cancelled, "interrupted; nothing is trained");
  if (!ready) return session.fail(exit_wrong_use, ready.error().message);
  auto worker = start_worker(arguments.model, &interrupts());
  if (!worker) return session.fail(worker.error());
  json request = begin_request(arguments, *ready);
  request["threads"] =
      arguments.model.threads > 0 ? arguments.model.threads : worker_cores(worker->hello());
  ready->settings["threads"] = request["threads"];
  if (ready->resumes) {
    const Status same = same_settings(ready->settings, ready->settings_before,
                                      arguments.in_folder(training_state_file));
    if (!same) return session.fail(exit_wrong_use, same.error().message);
  }
  std::int64_t done = 0;
  const Status begun = cli::ask(*worker, request, [&](const json& event) {
    done = event.value("step", std::int64_t{0});
    return event.value("event", "") == "training-begun";
  });
  if (!begun) return session.fail(exit_wrong_use, begun.error().message);
  if (Status taken = take_folder(arguments); !taken)
    return session.fail(exit_wrong_use, taken.error().message);
  auto run = TrainRun::make(arguments, *ready, *worker, done);
  if (!run) return session.fail(exit_wrong_use, run.error().message);
  const Status ended = run->run();
  if (!ended) return session.fail(exit_wrong_use, ended.error().message);
  if (run->done() < arguments.steps) {
    session.fail(exit_cancelled,
                 fmt::format("interrupted behind step {} of {}; the same command goes on",
                             run->done(), arguments.steps));
  } else if (!run->lost_events().empty()) {
    session.fail(exit_wrong_use,
                 fmt::format("standard output did not take every event ({}); {} has the trained "
                             "model all the same",
                             run->lost_events(), arguments.out));
  }
}

CLI::Option* add_number(CLI::App& command, const char* name, std::int64_t& value,
                        const char* help) {
  return command.add_option(name, value, help)->type_name("N")->check(above_zero);
}

void add_validation_arguments(CLI::App& command, TrainArguments& arguments) {
  command
      .add_option("--validate-run", arguments.validate_run,
                  "TREC run, optionally .gz, that is re-ranked for validation; its nDCG@10 is "
                  "added to the curve")
      ->type_name("FILE");
  add_run_columns_option(command, arguments.third_column);
  command
      .add_option("--validate-qrels", arguments.validate_qrels, "Judgements of the validation run")
      ->type_name("FILE");
  command
      .add_option("--validate-queries", arguments.validate_queries,
                  "Query texts of the validation run; default: --queries")
      ->type_name("FILE");
  command
      .add_option("--validate-documents", arguments.validate_documents,
                  "Document texts of the validation run; default: --documents")
      ->type_name("FILE");
  add_number(command, "--validate-every", arguments.validate_every,
             "Number of steps between two validations; default: --save-every");
  command
      .add_option(
          "--keep", arguments.keep,
          "Weights to write: best (by validation) or last; default: best if there is a validation")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"best", "last"}));
}

void add_optimizer_arguments(CLI::App& command, TrainArguments& arguments) {
  add_number(command, "--steps", arguments.steps, "Number of optimizer steps")->required();
  add_number(command, "--batch", arguments.shape.batch, "Number of triples in a batch")
      ->capture_default_str();
  add_number(command, "--gradient-accumulation", arguments.shape.accumulate,
             "Number of batches per optimizer step (gradient accumulation)")
      ->capture_default_str();
  command
      .add_option("--learning-rate", arguments.learning_rate,
                  "Learning rate; default: 7e-6, the paper's")
      ->type_name("X")
      ->check(above_zero);
  command
      .add_option("--warmup-steps", arguments.warm_up,
                  "Number of warm-up steps; default: 1 % of --steps")
      ->type_name("N")
      ->check(zero_or_above);
  command
      .add_option("--schedule", arguments.schedule,
                  "Learning rate schedule after warm-up: constant or linear decay")
      ->type_name("NAME")
      ->check(CLI::IsMember({"constant", "linear"}))
      ->capture_default_str();
  command
      .add_option("--weight-decay", arguments.weight_decay,
                  "Weight decay of AdamW; not applied to biases and norms")
      ->type_name("X")
      ->check(zero_or_above)
      ->capture_default_str();
  command
      .add_option("--max-grad-norm", arguments.clip, "Maximum gradient norm; 0 disables clipping")
      ->type_name("X")
      ->check(zero_or_above)
      ->capture_default_str();
  command
      .add_option("--seed", arguments.shape.seed,
                  "Random seed of the order of triples and of a new classification head")
      ->type_name("N")
      ->check(zero_or_above)
      ->capture_default_str();
  command.add_flag("--recompute", arguments.recompute,
                   "Recompute activations in the backward pass: less memory, the same weights");
}

}  // namespace

void add_train_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command =
      app.add_subcommand("train", "Fine-tune a cross-encoder with any attention pattern");
  add_model_arguments(*command, arguments->model);
  command
      ->add_option(
          "--triples", arguments->triples,
          "Training triples, .tsv or .jsonl: QUERY, POSITIVE, NEGATIVE; for --margin-mse followed "
          "by the teacher's MARGIN or both scores; for --localized-ce with any number of negatives")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--queries", arguments->queries,
                   "Query texts (QID, QUERY) if the triples have ids")
      ->type_name("FILE");
  command
      ->add_option("--documents", arguments->documents,
                   "Document texts (DOCID, TEXT) if the triples have ids")
      ->type_name("FILE");
  add_beir_options(*command, arguments->beir,
                   "BEIR folder instead of --queries and --documents; validation uses its "
                   "judgements unless --validate-qrels is given");
  command->add_flag("--margin-mse", arguments->margin_mse,
                    "Loss: margin MSE against a teacher's score difference");
  command->add_flag("--ranknet", arguments->ranknet,
                    "Loss: RankNet, the positive above the negative");
  command->add_flag("--localized-ce", arguments->localized_ce,
                    "Loss: localized cross-entropy, the positive above all its negatives");
  add_optimizer_arguments(*command, *arguments);
  add_number(*command, "--save-every", arguments->save_every,
             "Number of steps between two checkpoints of the training state")
      ->capture_default_str();
  add_validation_arguments(*command, *arguments);
  command->add_flag("--restart", arguments->restart,
                    "Start over in a folder with an earlier training");
  command->add_flag("--events", arguments->events, "Print a JSON line per step");
  command->add_option("-o,--output", arguments->out, "Folder to write the trained model to")
      ->type_name("DIR")
      ->required();
  command->callback([&session, arguments] {
    arguments->model.question.options.emplace("cls-only-last-layer");
    arguments->shape.with_margin = arguments->margin_mse;
    if (const Status taken = take_beir(*arguments); !taken)
      return session.fail(exit_wrong_use, taken.error().message);
    train(session, *arguments);
  });
}

}  // namespace attnscope::cli
