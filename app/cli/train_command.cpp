// SPDX-License-Identifier: GPL-3.0-or-later
//
// train: a cross-encoder fine-tuned with any pattern, from triples; a folder as Hugging Face lays
// it out comes out. What was killed goes on from its last state when the same command is given
// again.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
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
#include "app/cli/score_run.h"
#include "app/cli/worker_requests.h"
#include "engine/checkpoint/trained_config.h"
#include "engine/effectiveness/measures.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/safetensors/safetensors.h"
#include "engine/text/subword_file.h"
#include "engine/text/text_collection.h"
#include "engine/text/training_file.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"
#include "kernels/base/written_file.h"

namespace attnscope::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* trained_model_file = "model.safetensors";
constexpr const char* training_state_file = "training-state.safetensors";
constexpr const char* training_curve_file = "training.tsv";
constexpr const char* validation_file = "validation.trec";
constexpr std::size_t longest_train_name = 400;
constexpr std::int64_t validation_depth = 100;  // documents of a query

struct TrainCommand {
  ModelArguments model;
  std::string triples, queries, documents, out;
  bool margin_mse = false, ranknet = false, localized_ce = false;
  std::string schedule = "constant";
  std::int64_t steps = 0, batch = 16, accumulate = 1, warm_up = -1, save_every = 500, seed = 1;
  double learning_rate = 7e-6, weight_decay = 0.01, clip = 1;
  bool recompute = false, restart = false, events = false;
  std::string validate_run, validate_queries, validate_documents, validate_qrels;
  std::int64_t validate_every = 0;

  [[nodiscard]] std::string objective() const {
    if (margin_mse) return "margin-mse";
    return ranknet ? "ranknet" : "localized-ce";
  }
  /// A hundredth of the steps, as the paper's 1,000 of 100,000.
  [[nodiscard]] std::int64_t warm_up_steps() const { return warm_up < 0 ? steps / 100 : warm_up; }
  [[nodiscard]] bool validates() const { return !validate_run.empty(); }
  [[nodiscard]] fs::path in_folder(const char* name) const { return fs::path(out) / name; }
};

/// What decides of the trained weights: a state of other settings is another training's.
json settings_of(const TrainCommand& arguments, const ScoringModel& model, std::int64_t triples) {
  return {{"checkpoint", model.request["checkpoint"]},
          {"pattern_json", model.request["pattern_json"]},
          {"window", model.request["window"]},
          {"dtype", model.request["dtype"]},
          {"device", model.request["device"]},
          {"implementation", model.request["implementation"]},
          {"positions", model.shape.positions},
          {"max_tokens", model.limits.most_tokens},
          {"max_query_tokens", model.limits.most_query_tokens},
          {"triples", fs::absolute(arguments.triples).string()},
          {"lines", triples},
          {"objective", arguments.objective()},
          {"steps", arguments.steps},
          {"batch", arguments.batch},
          {"accumulate", arguments.accumulate},
          {"learning_rate", arguments.learning_rate},
          {"warm_up", arguments.warm_up_steps()},
          {"schedule", arguments.schedule},
          {"weight_decay", arguments.weight_decay},
          {"clip", arguments.clip},
          {"seed", arguments.seed}};
}

/// Ok, or the first setting that differs.
Status same_settings(const json& now, const json& then, const fs::path& state) {
  for (const auto& [key, value] : now.items()) {
    const json before = then.value(key, json());
    if (before == value) continue;
    return fail(
        "{}: is of a training with {} {}, and now it is {}; give the same, --restart, or another "
        "folder",
        in_a_sentence(state.string(), longest_train_name), key, in_a_sentence(before.dump()),
        in_a_sentence(value.dump()));
  }
  return {};
}

/// Groups of token ids in the order of the seed.
class TrainingData {
 public:
  TrainingData(const TrainCommand& arguments, const ScoringModel& model, TrainingFile file,
               std::optional<RerankedTexts> texts)
      : arguments_(arguments), model_(model), file_(std::move(file)), texts_(std::move(texts)) {}

  /// The request that makes this step, counted from 1.
  [[nodiscard]] Result<json> request_of(std::int64_t step) {
    json request = {{"request", "train-step"}, {"cls", model_.tokenizer->cls()}};
    json& batches = request["batches"] = json::array();
    std::int64_t at = (step - 1) * arguments_.batch * arguments_.accumulate;
    for (std::int64_t a = 0; a < arguments_.accumulate; ++a) {
      json batch = json::array();
      for (std::int64_t i = 0; i < arguments_.batch; ++i) {
        auto group = group_at(at++);
        if (!group) return tl::unexpected(group.error());
        batch.push_back(std::move(*group));
      }
      batches.push_back(std::move(batch));
    }
    return request;
  }
  [[nodiscard]] std::int64_t lines() const { return file_.size(); }
  [[nodiscard]] double epochs(std::int64_t steps) const {
    return static_cast<double>(steps * arguments_.batch * arguments_.accumulate) /
           static_cast<double>(file_.size());
  }

 private:
  [[nodiscard]] Result<json> group_at(std::int64_t at) {
    const std::int64_t epoch = at / file_.size();
    if (epoch != epoch_) {
      order_ = drawn_order(file_.size(), static_cast<std::uint64_t>(arguments_.seed), epoch);
      epoch_ = epoch;
    }
    auto line = file_.line(order_[static_cast<std::size_t>(at % file_.size())]);
    if (!line) return tl::unexpected(line.error());
    if (Status found = look_up(*line); !found) {
      return fail("{}: {}", file_.place(line->number), found.error().message);
    }
    json group = {{"documents", json::array()}};
    for (const std::string& document : line->documents) {
      const auto pair = model_.tokenizer->encode(line->query, document, model_.limits);
      if (!pair) return fail("{}: {}", file_.place(line->number), pair.error().message);
      group["query"] = pair->query;
      group["documents"].push_back(pair->document);
    }
    if (arguments_.margin_mse) group["margin"] = line->margin;
    return group;
  }

  /// Texts in the places of ids.
  [[nodiscard]] Status look_up(TrainingLine& line) {
    if (!texts_) return {};
    const auto replace = [](TextCollection& texts, std::string_view what,
                            std::string& id) -> Status {
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

  const TrainCommand& arguments_;
  const ScoringModel& model_;
  TrainingFile file_;
  std::optional<RerankedTexts> texts_;  // where the triples have ids
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> order_;  // of that epoch
};

/// The run that is ranked anew now and then, and what it is held against.
struct Validation {
  effectiveness::TrecRun run;
  effectiveness::Qrels qrels;
  RerankedTexts texts;
};

/// Everything that is checked before a worker is started.
struct ReadyToTrain {
  ScoringModel model;
  TrainingFile file;
  std::optional<RerankedTexts> texts;
  std::optional<Validation> validation;
  json settings;
  bool resumes = false;
};

Result<TrainingFile> open_triples(const TrainCommand& arguments) {
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
  return file;
}

Result<std::optional<RerankedTexts>> open_id_texts(const TrainCommand& arguments) {
  if (arguments.queries.empty() != arguments.documents.empty())
    return fail("--queries and --documents are given together, for triples of ids");
  if (arguments.queries.empty()) return std::optional<RerankedTexts>();
  return open_texts(arguments.queries, arguments.documents).map([](RerankedTexts&& texts) {
    return std::optional(std::move(texts));
  });
}

Result<std::optional<Validation>> open_validation(const TrainCommand& arguments) {
  const std::string& queries =
      arguments.validate_queries.empty() ? arguments.queries : arguments.validate_queries;
  const std::string& documents =
      arguments.validate_documents.empty() ? arguments.documents : arguments.validate_documents;
  if (!arguments.validates()) {
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
  auto run = effectiveness::TrecRun::read(arguments.validate_run);
  if (!run) return tl::unexpected(run.error());
  auto qrels = effectiveness::Qrels::read(arguments.validate_qrels);
  if (!qrels) return tl::unexpected(qrels.error());
  auto texts = open_texts(queries, documents);
  if (!texts) return tl::unexpected(texts.error());
  Validation validation{std::move(*run), std::move(*qrels), std::move(*texts)};
  if (Status found = find_texts(validation.run, validation_depth, validation.texts); !found)
    return tl::unexpected(found.error());
  return std::optional(std::move(validation));
}

/// The folder is ours to write into, and whether a state in it is gone on with.
Result<bool> look_into_folder(const TrainCommand& arguments, const json& settings) {
  std::error_code failed;
  fs::create_directories(arguments.out, failed);
  if (failed) {
    return fail("{}: cannot be made: {}; name another folder", arguments.out, failed.message());
  }
  if (fs::equivalent(arguments.out, arguments.model.checkpoint, failed))
    return fail("-o names the checkpoint's own folder; name another");
  const fs::path state = arguments.in_folder(training_state_file);
  if (arguments.restart) fs::remove(state, failed);
  // What a training that was killed while it wrote left.
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(arguments.out, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(fmt::format("{}.part-", training_state_file)) ||
        name.starts_with(fmt::format("{}.part-", trained_model_file))) {
      parts.push_back(entry.path());
    }
  }
  for (const fs::path& part : parts) fs::remove(part, failed);
  if (!fs::exists(state, failed)) {
    if (!arguments.restart && fs::exists(arguments.in_folder(trained_model_file), failed)) {
      return fail("{}: there is a model in it already; name another folder, or give --restart",
                  arguments.out);
    }
    return false;
  }
  const auto file = SafetensorsFile::open(state);
  if (!file) return tl::unexpected(file.error());
  const auto text = file->metadata("settings");
  if (!text) return tl::unexpected(text.error());
  const json then = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!then.is_object()) return fail("{}: has settings that are no JSON", state.string());
  if (Status same = same_settings(settings, then, state); !same)
    return tl::unexpected(same.error());
  return true;
}

Result<ReadyToTrain> prepare(const TrainCommand& arguments) {
  const int objectives = static_cast<int>(arguments.margin_mse) +
                         static_cast<int>(arguments.ranknet) +
                         static_cast<int>(arguments.localized_ce);
  if (objectives != 1)
    return fail("say what is trained for: one of --margin-mse, --ranknet and --localized-ce");
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (model->request["dtype"] == "float16")
    return fail("--dtype float16 has no room for small gradients; take float32 or bfloat16");
  if (Status allowed = may_be_written(arguments.in_folder(trained_model_file), model->files);
      !allowed)
    return tl::unexpected(allowed.error());
  auto file = open_triples(arguments);
  if (!file) return tl::unexpected(file.error());
  auto texts = open_id_texts(arguments);
  if (!texts) return tl::unexpected(texts.error());
  auto validation = open_validation(arguments);
  if (!validation) return tl::unexpected(validation.error());
  json settings = settings_of(arguments, *model, file->size());
  const auto resumes = look_into_folder(arguments, settings);
  if (!resumes) return tl::unexpected(resumes.error());
  return ReadyToTrain{std::move(*model),      std::move(*file),    std::move(*texts),
                      std::move(*validation), std::move(settings), *resumes};
}

json begin_request(const TrainCommand& arguments, const ReadyToTrain& ready) {
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
  request["seed"] = arguments.seed;
  request["resume"] = ready.resumes
                          ? json(fs::absolute(arguments.in_folder(training_state_file)).string())
                          : json();
  return request;
}

/// Loss, rate and speed of every step, a line each.
class Curve {
 public:
  /// Keeps the lines up to that step.
  Curve(const fs::path& file, std::int64_t done) : file_(file) {
    std::vector<std::string> kept;
    std::ifstream before(file);
    std::string line;
    while (done > 0 && std::getline(before, line) && before.good()) {
      if (std::strtoll(line.c_str(), nullptr, 10) <= done) kept.push_back(line + "\n");
    }
    before.close();
    std::string text;
    for (const std::string& one : kept) text += one;
    if (kept.empty()) text = "step\tloss\tlearning_rate\tgradient_norm\ttokens\tseconds\tnDCG@10\n";
    begun_ = write_file(file, text);
    out_.open(file, std::ios::app);
  }
  void add(const json& step, std::optional<double> ndcg) {
    out_ << fmt::format("{}\t{}\t{}\t{}\t{}\t{:.3f}\t{}\n", step.value("step", 0),
                        step.value("loss", 0.0), step.value("learning_rate", 0.0),
                        step.value("gradient_norm", 0.0), step.value("tokens", 0),
                        step.value("seconds", 0.0), ndcg ? fmt::format("{:.4f}", *ndcg) : "");
    out_.flush();
  }
  [[nodiscard]] Status outcome() const {
    if (!begun_) return begun_;
    return out_ ? Status() : fail("{}: cannot be written; make room", file_.string());
  }

 private:
  fs::path file_;
  Status begun_;
  std::ofstream out_;
};

class TrainingRun {
 public:
  TrainingRun(const TrainCommand& arguments, ReadyToTrain& ready, WorkerProcess& worker,
              std::int64_t done)
      : arguments_(arguments),
        ready_(ready),
        worker_(worker),
        data_(arguments, ready.model, std::move(ready.file), std::move(ready.texts)),
        curve_(arguments.in_folder(training_curve_file), done),
        done_(done),
        progress_(isatty(STDERR_FILENO) == 1 && !arguments.events) {}

  [[nodiscard]] Status run() {
    if (done_ < arguments_.steps) say_begin();
    std::optional<json> next;
    while (done_ < arguments_.steps && interrupts() == 0) {
      if (!next) {
        auto request = data_.request_of(done_ + 1);
        if (!request) return tl::unexpected(request.error());
        next = std::move(*request);
      }
      if (Status sent = worker_.send(*next); !sent) return sent;
      next.reset();
      // The next step's texts become tokens while this one is computed.
      Result<json> following =
          done_ + 2 <= arguments_.steps ? data_.request_of(done_ + 2) : Result<json>(json());
      auto event = wait_for(worker_, "train-step", never_);
      if (!event) return tl::unexpected(event.error());
      if (Status after = take_step(**event); !after) return after;
      if (!following) return tl::unexpected(following.error());
      if (!following->is_null()) next = std::move(*following);
    }
    progress_.clear();
    if (done_ < arguments_.steps) return save();
    return finish();
  }
  [[nodiscard]] std::int64_t done() const { return done_; }

 private:
  void say_begin() const {
    if (arguments_.events) return;
    say("attnscope: {} steps of {} groups from {} lines ({:.2f} times each){}", arguments_.steps,
        arguments_.batch * arguments_.accumulate, data_.lines(), data_.epochs(arguments_.steps),
        done_ > 0 ? fmt::format("; going on behind step {}", done_) : "");
  }

  [[nodiscard]] Status take_step(const json& step) {
    done_ = step.value("step", std::int64_t{0});
    const double seconds = step.value("seconds", 0.0);
    const double tokens = step.value("tokens", 0.0);
    losses_ += step.value("loss", 0.0);
    ++counted_;
    tokens_ += tokens;
    seconds_ += seconds;
    progress_.show(fmt::format("step {} of {}, loss {:.4f}, {:.0f} tokens a second", done_,
                               arguments_.steps, step.value("loss", 0.0), tokens / seconds),
                   static_cast<double>(done_ - first_),
                   static_cast<double>(done_) / static_cast<double>(arguments_.steps));
    std::optional<double> ndcg;
    const std::int64_t every =
        arguments_.validate_every > 0 ? arguments_.validate_every : arguments_.save_every;
    if (arguments_.validates() && (done_ % every == 0 || done_ == arguments_.steps)) {
      auto value = validate();
      if (!value) return tl::unexpected(value.error());
      ndcg = *value;
    }
    curve_.add(step, ndcg);
    if (Status written = curve_.outcome(); !written) return written;
    tell(step, ndcg);
    const bool saves = done_ % arguments_.save_every == 0 && done_ < arguments_.steps;
    return saves ? save() : Status();
  }

  void tell(const json& step, std::optional<double> ndcg) {
    if (arguments_.events) {
      json event = step;
      event["event"] = "step";
      if (ndcg) event["nDCG@10"] = *ndcg;
      fmt::print("{}\n", event.dump());
      std::fflush(stdout);
      return;
    }
    if (!ndcg && done_ % arguments_.save_every != 0 && done_ != arguments_.steps) return;
    progress_.clear();
    say("attnscope: step {} of {}: loss {:.4f} (mean of {} steps), {:.0f} tokens a second{}", done_,
        arguments_.steps, losses_ / static_cast<double>(counted_), counted_, tokens_ / seconds_,
        ndcg ? fmt::format(", nDCG@10 {:.4f}", *ndcg) : "");
    losses_ = tokens_ = seconds_ = 0;
    counted_ = 0;
  }

  [[nodiscard]] Status ask_for(const json& request, std::string_view kind) {
    return cli::ask(worker_, request,
                    [&](const json& event) { return event.value("event", "") == kind; });
  }

  [[nodiscard]] Status save() {
    const Status saved =
        ask_for({{"request", "save-training"},
                 {"path", fs::absolute(arguments_.in_folder(training_state_file)).string()},
                 {"metadata", {{"settings", ready_.settings.dump()}}}},
                "training-saved");
    if (saved && arguments_.events) {
      fmt::print("{}\n", json{{"event", "saved"}, {"step", done_}}.dump());
      std::fflush(stdout);
    }
    return saved;
  }

  [[nodiscard]] Result<double> validate() {
    if (Status loaded = ask_for({{"request", "model-so-far"}}, "model"); !loaded)
      return tl::unexpected(loaded.error());
    auto out = WrittenFile::beside(arguments_.in_folder(validation_file));
    if (!out) return tl::unexpected(out.error());
    Validation& validation = *ready_.validation;
    RerankedPairs pairs(ready_.model, validation.run, validation_depth, validation.texts,
                        LongDocuments::first_p);
    ScoreOptions options;
    options.keeps_part = false;
    ScoreRun run(ready_.model, worker_, pairs, false,
                 ScoreLines(ScoreFormat::trec, "validation", /*best_of=*/true), &*out, never_,
                 options);
    if (Status done = run.run(); !done) return tl::unexpected(done.error());
    const auto ranked = effectiveness::TrecRun::read(arguments_.in_folder(validation_file));
    if (!ranked) return tl::unexpected(ranked.error());
    const auto measure = effectiveness::parse_measure("nDCG@10");
    if (!measure) return tl::unexpected(measure.error());
    return effectiveness::evaluate(*ranked, validation.qrels, {*measure}, {}).mean(0);
  }

  /// The weights come last: a folder with them is whole.
  [[nodiscard]] Status finish() {
    const fs::path from = arguments_.model.checkpoint;
    constexpr std::uintmax_t most_config_bytes = 1U << 20U;
    const auto text =
        read_text_file(from / "config.json", "model's configuration", most_config_bytes);
    if (!text) return tl::unexpected(text.error());
    const ScoringModel& model = ready_.model;
    const auto config = trained_config(*text, {.pattern = model.pattern.name,
                                               .window = model.window,
                                               .most_query_tokens = model.limits.most_query_tokens,
                                               .positions = model.shape.positions});
    if (!config) return tl::unexpected(config.error());
    if (Status written = write_file(arguments_.in_folder("config.json"), *config); !written)
      return written;
    std::vector<std::string> copied(tokenizer_files.begin(), tokenizer_files.end());
    copied.emplace_back("special_tokens_map.json");
    for (const std::string& name : copied) {
      std::error_code failed;
      if (!fs::exists(from / name, failed)) continue;
      fs::copy_file(from / name, arguments_.in_folder(name.c_str()),
                    fs::copy_options::overwrite_existing, failed);
      if (failed) {
        return fail("{}: cannot be written: {}", arguments_.in_folder(name.c_str()).string(),
                    failed.message());
      }
    }
    if (Status written =
            ask_for({{"request", "write-trained"},
                     {"path", fs::absolute(arguments_.in_folder(trained_model_file)).string()}},
                    "trained-written");
        !written) {
      return written;
    }
    std::error_code ignored;
    fs::remove(arguments_.in_folder(training_state_file), ignored);
    return {};
  }

  const TrainCommand& arguments_;
  ReadyToTrain& ready_;
  WorkerProcess& worker_;
  TrainingData data_;
  Curve curve_;
  std::int64_t done_;
  const std::int64_t first_ = done_;
  CountLine progress_;
  // Since the last line that was said.
  double losses_ = 0, tokens_ = 0, seconds_ = 0;
  std::int64_t counted_ = 0;
  const std::atomic<int> never_ = 0;  // a step is waited for, then saved
};

void train(Session& session, const TrainCommand& arguments) {
  catch_interrupts();
  auto ready = prepare(arguments);
  if (interrupts() > 0) return session.fail(exit_cancelled, "interrupted; nothing is trained");
  if (!ready) return session.fail(exit_wrong_use, ready.error().message);
  auto worker = start_worker(arguments.model, &interrupts());
  if (!worker) return session.fail(worker.error());
  json request = begin_request(arguments, *ready);
  request["threads"] =
      arguments.model.threads > 0 ? arguments.model.threads : worker_cores(worker->hello());
  std::int64_t done = 0;
  const Status begun = cli::ask(*worker, request, [&](const json& event) {
    done = event.value("step", std::int64_t{0});
    return event.value("event", "") == "training-begun";
  });
  if (!begun) return session.fail(exit_wrong_use, begun.error().message);
  TrainingRun run(arguments, *ready, *worker, done);
  const Status ended = run.run();
  if (!ended) return session.fail(exit_wrong_use, ended.error().message);
  if (run.done() < arguments.steps) {
    session.fail(exit_cancelled,
                 fmt::format("interrupted behind step {} of {}; the same command goes on",
                             run.done(), arguments.steps));
  }
}

CLI::Option* add_number(CLI::App& command, const char* name, std::int64_t& value,
                        const char* help) {
  return command.add_option(name, value, help)->type_name("N")->check(CLI::PositiveNumber);
}

void add_validation_arguments(CLI::App& command, TrainCommand& arguments) {
  command
      .add_option("--validate-run", arguments.validate_run,
                  "TREC run that is ranked anew now and then; its nDCG@10 stands in the curve")
      ->type_name("FILE");
  command.add_option("--validate-qrels", arguments.validate_qrels, "Of that run")
      ->type_name("FILE");
  command.add_option("--validate-queries", arguments.validate_queries, "Its texts; else --queries")
      ->type_name("FILE");
  command
      .add_option("--validate-documents", arguments.validate_documents,
                  "Its texts; else --documents")
      ->type_name("FILE");
  add_number(command, "--validate-every", arguments.validate_every,
             "Steps between two validations; else as --save-every");
}

void add_optimizer_arguments(CLI::App& command, TrainCommand& arguments) {
  add_number(command, "--steps", arguments.steps, "Updates of the weights")->required();
  add_number(command, "--batch", arguments.batch, "Lines that are computed at once")
      ->capture_default_str();
  add_number(command, "--accumulate", arguments.accumulate, "Batches of one update")
      ->capture_default_str();
  command.add_option("--learning-rate", arguments.learning_rate, "The paper's 7e-6 unless given")
      ->type_name("X")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--warm-up", arguments.warm_up,
                  "Steps in which the rate rises to it; else a hundredth of all")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--schedule", arguments.schedule, "Of the rate behind that: constant or linear")
      ->type_name("NAME")
      ->check(CLI::IsMember({"constant", "linear"}))
      ->capture_default_str();
  command
      .add_option("--weight-decay", arguments.weight_decay,
                  "AdamW's, of weights; biases and the norms' factors have none")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--clip", arguments.clip,
                  "Longest gradient of all weights together; 0: any length")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--seed", arguments.seed,
                  "Of the order of lines, and of a head that is not there")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag("--recompute", arguments.recompute,
                   "Keep each layer's input alone, and compute it again on the way back: less "
                   "memory, the same weights");
}

}  // namespace

void add_train_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TrainCommand>();
  CLI::App* command =
      app.add_subcommand("train", "Fine-tune a cross-encoder with any pattern of attention");
  add_model_arguments(*command, arguments->model);
  command
      ->add_option(
          "--triples", arguments->triples,
          ".tsv or .jsonl: QUERY, POSITIVE, NEGATIVE, for --margin-mse with MARGIN or both "
          "scores behind, for --localized-ce with any number of negatives")
      ->type_name("FILE")
      ->required();
  command->add_option("--queries", arguments->queries, "The triples have ids of these: QID, QUERY")
      ->type_name("FILE");
  command->add_option("--documents", arguments->documents, "And of these: DOCID, TEXT")
      ->type_name("FILE");
  command->add_flag("--margin-mse", arguments->margin_mse,
                    "Towards a teacher's difference between both scores");
  command->add_flag("--ranknet", arguments->ranknet, "The positive above the negative");
  command->add_flag("--localized-ce", arguments->localized_ce,
                    "The positive above all its negatives");
  add_optimizer_arguments(*command, *arguments);
  add_number(*command, "--save-every", arguments->save_every,
             "Steps behind which the state is saved, from which the same command goes on")
      ->capture_default_str();
  add_validation_arguments(*command, *arguments);
  command->add_flag("--restart", arguments->restart, "Begin anew in a folder that has something");
  command->add_flag("--events", arguments->events, "Every step as a line of JSON");
  command->add_option("-o,--output", arguments->out, "Folder of the trained model")
      ->type_name("DIR")
      ->required();
  command->callback([&session, arguments] {
    arguments->model.question.options.emplace("cls-only-last-layer");
    train(session, *arguments);
  });
}

}  // namespace attnscope::cli
