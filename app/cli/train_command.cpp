// SPDX-License-Identifier: GPL-3.0-or-later
//
// train: fine-tunes a cross-encoder with any pattern on triples, and writes a folder in Hugging
// Face's layout. After a crash, the same command resumes from the last state. This file parses and
// checks the arguments before a worker starts; train_run.h runs the steps.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/sentences.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/train_run.h"
#include "engine/ranking/training_folder.h"
#include "engine/text/training_file.h"

namespace attnscope::cli {

namespace {

using nlohmann::json;

struct TrainCommand {
  ModelArguments model;
  BeirArguments beir;
  TrainRunOptions options;
  bool events = false;
};

Result<TrainingFile> open_triples(const TrainRunOptions& options) {
  CountLine progress;
  auto file = TrainingFile::open(
      options.triples, {.with_margin = options.margin_mse, .many_negatives = options.localized_ce},
      [&](double share) {
        progress.show(fmt::format("{:.0f} % of {} read", share * 100, options.triples), share,
                      share);
        return interrupts() == 0;
      });
  progress.clear();
  if (file) note(file->notes());
  return file;
}

Result<std::optional<RerankedTexts>> open_id_texts(const TrainRunOptions& options) {
  if (options.queries.empty() != options.documents.empty())
    return fail("--queries and --documents must be given together, for triples of ids");
  if (options.queries.empty()) return std::optional<RerankedTexts>();
  return open_texts(options.queries, options.documents).map([](RerankedTexts&& texts) {
    return std::optional(std::move(texts));
  });
}

Result<std::optional<Validation>> open_validation(const TrainRunOptions& options) {
  const std::string& queries =
      options.validate_queries.empty() ? options.queries : options.validate_queries;
  const std::string& documents =
      options.validate_documents.empty() ? options.documents : options.validate_documents;
  if (!options.validates()) {
    if (options.keep == "best") return fail("--keep best needs a validation; give --validate-run");
    if (!options.validate_qrels.empty() || !options.validate_queries.empty() ||
        !options.validate_documents.empty()) {
      return fail(
          "--validate-qrels, --validate-queries and --validate-documents need a run to re-rank; "
          "give --validate-run");
    }
    return std::optional<Validation>();
  }
  if (queries.empty() || documents.empty() || options.validate_qrels.empty()) {
    return fail(
        "--validate-run needs --validate-qrels, and the texts of --validate-queries and "
        "--validate-documents");
  }
  auto run = effectiveness::TrecRun::read(options.validate_run, options.third_column);
  if (!run) return tl::unexpected(run.error());
  auto qrels = effectiveness::Qrels::read(options.validate_qrels);
  if (!qrels) return tl::unexpected(qrels.error());
  if (std::ranges::none_of(
          run->queries, [&](const auto& query) { return qrels->queries.contains(query.first); })) {
    return fail("{}: none of its queries is judged in {}, so nothing can be validated",
                options.validate_run, options.validate_qrels);
  }
  auto texts = open_texts(queries, documents);
  if (!texts) return tl::unexpected(texts.error());
  Validation validation{std::move(*run), std::move(*qrels), std::move(*texts)};
  if (Status found = find_texts(validation.run, validation_depth, validation.texts); !found)
    return tl::unexpected(found.error());
  return std::optional(std::move(validation));
}

Result<ReadyToTrain> prepare(const TrainCommand& arguments) {
  const TrainRunOptions& options = arguments.options;
  if (Status can = check_training(options); !can) return tl::unexpected(can.error());
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (model->request.dtype == DType::float16)
    return fail("--dtype float16 cannot represent small gradients; use float32 or bfloat16");
  auto file = open_triples(options);
  if (!file) return tl::unexpected(file.error());
  auto texts = open_id_texts(options);
  if (!texts) return tl::unexpected(texts.error());
  auto validation = open_validation(options);
  if (!validation) return tl::unexpected(validation.error());
  auto settings = training_settings(options, *model, file->size(), interrupts());
  if (!settings) return tl::unexpected(settings.error());
  auto before = claim_folder(options, *settings);
  if (!before) return tl::unexpected(before.error());
  return ReadyToTrain{std::move(*model),      std::move(*file),     std::move(*texts),
                      std::move(*validation), std::move(*settings), std::move(*before)};
}

/// Prints what a training reports: sentences and a progress line, or a JSON line for each event.
class TrainPrinter {
 public:
  explicit TrainPrinter(const TrainCommand& arguments)
      : options_(arguments.options), events_(arguments.events), progress_(!arguments.events) {}

  /// The object must outlive them.
  [[nodiscard]] TrainingEvents events() {
    return {
        .on_computed = [this](const TrainedStep& step) { computed(step); },
        .on_recorded = [this](const TrainedStep& step, bool is_best) { recorded(step, is_best); },
        .on_saved =
            [this](std::int64_t step) {
              if (events_) print_event({{"event", "saved"}, {"step", step}});
            }};
  }

  void begins(const TrainRun& run) {
    first_ = run.done();
    if (events_ || first_ >= options_.steps) return;
    const TrainingData& data = run.data();
    print_status("attnscope: {} steps of {} groups from {} lines ({:.2f} epochs){}", options_.steps,
                 data.groups_of_step(), data.lines(), data.epochs(options_.steps),
                 first_ > 0 ? fmt::format("; resuming after step {}", first_) : "");
  }

  void clear() { progress_.clear(); }

  void kept(const TrainRun& run) {
    if (!options_.validates()) return;
    const std::optional<KeptStep>& kept = run.kept();
    if (events_) {
      json event = kept ? to_json(kept) : json{{"step", run.done()}};
      event["event"] = "kept";
      return print_event(event);
    }
    if (kept) {
      print_status("attnscope: the weights of step {} are kept; its nDCG@10 of {:.4f} is the best",
                   kept->step, kept->ndcg);
    } else {
      print_status("attnscope: the weights of the last step, {}, are kept", run.done());
    }
  }

  /// Why standard output did not accept one of the events; empty if it accepted all.
  [[nodiscard]] const std::string& lost_events() const { return lost_events_; }

 private:
  void computed(const TrainedStep& step) {
    losses_ += step.loss;
    ++counted_;
    tokens_ += static_cast<double>(step.tokens);
    seconds_ += step.seconds;
    progress_.show(
        fmt::format("step {} of {}, loss {:.4f}, {:.0f} tokens a second", step.step, options_.steps,
                    step.loss, static_cast<double>(step.tokens) / step.seconds),
        static_cast<double>(step.step - first_),
        static_cast<double>(step.step) / static_cast<double>(options_.steps));
  }

  void recorded(const TrainedStep& step, bool is_best) {
    if (events_) {
      json event{{"event", "step"},
                 {"step", step.step},
                 {"loss", step.loss},
                 {"learning_rate", step.learning_rate},
                 {"gradient_norm", step.gradient_norm},
                 {"tokens", step.tokens},
                 {"seconds", step.seconds}};
      if (step.ndcg) event["nDCG@10"] = *step.ndcg;
      if (is_best) event["best"] = true;
      return print_event(event);
    }
    if (!step.ndcg && step.step % options_.save_every != 0 && step.step != options_.steps) return;
    progress_.clear();
    print_status(
        "attnscope: step {} of {}: loss {:.4f} (mean of {} steps), {:.0f} tokens a second{}{}",
        step.step, options_.steps, losses_ / static_cast<double>(counted_), counted_,
        tokens_ / seconds_, step.ndcg ? fmt::format(", nDCG@10 {:.4f}", *step.ndcg) : "",
        is_best ? ", the best so far" : "");
    losses_ = tokens_ = seconds_ = 0;
    counted_ = 0;
  }

  /// A failed write does not end the training, which does not depend on readers of the events.
  void print_event(const json& event) {
    const std::string line = event.dump() + "\n";
    errno = 0;
    if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
        std::fflush(stdout) == 0) {
      return;
    }
    if (lost_events_.empty()) lost_events_ = system_reason(errno);
  }

  const TrainRunOptions& options_;
  bool events_;
  std::int64_t first_ = 0;  // steps that were done before
  CountLine progress_;
  // Sums since the last printed line.
  double losses_ = 0, tokens_ = 0, seconds_ = 0;
  std::int64_t counted_ = 0;
  std::string lost_events_;
};

void train(Session& session, const TrainCommand& arguments) {
  const TrainRunOptions& options = arguments.options;
  catch_interrupts();
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader of the events must not end the training
  auto ready = prepare(arguments);
  if (interrupts() > 0) return session.fail(exit_cancelled, "interrupted; nothing is trained");
  if (!ready) return session.fail(ready.error());
  auto worker = start_worker(arguments.model, &interrupts());
  if (!worker) return session.fail(worker.error());
  TrainPrinter printer(arguments);
  auto run = TrainRun::begin(options, *ready, *worker, threads_of(arguments.model, *worker),
                             printer.events(), interrupts());
  if (!run) return session.fail(exit_wrong_use, run.error().message);
  printer.begins(*run);
  const Status ended = run->run();
  printer.clear();
  if (!ended) return session.fail(exit_wrong_use, ended.error().message);
  if (run->done() < options.steps) {
    return session.fail(
        exit_cancelled,
        fmt::format("interrupted after step {} of {}; the same command resumes the training",
                    run->done(), options.steps));
  }
  printer.kept(*run);
  const std::optional<Window>& window = ready->model.window;
  print_status("attnscope: the trained model is in {}{}", options.out,
               run->attention().pattern.empty()
                   ? fmt::format("; use it with --pattern {}{}", options.question.pattern,
                                 window ? " --window " + window->text() : "")
                   : "");
  if (!printer.lost_events().empty()) {
    session.fail(exit_wrong_use, fmt::format("some events could not be written to standard output "
                                             "({}); the trained model in {} is complete",
                                             printer.lost_events(), options.out));
  }
}

CLI::Option* add_number(CLI::App& command, const char* name, std::int64_t& value,
                        const char* help) {
  return add_count(command, name, value, help);
}

void add_validation_arguments(CLI::App& command, TrainRunOptions& options) {
  add_option(command, "--validate-run", options.validate_run, "FILE",
             "TREC run, optionally .gz, that is re-ranked for validation; its nDCG@10 is added to "
             "the training curve");
  add_run_columns_option(command, options.third_column);
  add_option(command, "--validate-qrels", options.validate_qrels, "FILE",
             "Relevance judgements of the validation run");
  add_option(command, "--validate-queries", options.validate_queries, "FILE",
             "Query texts of the validation run; default: --queries");
  add_option(command, "--validate-documents", options.validate_documents, "FILE",
             "Document texts of the validation run; default: --documents");
  add_number(command, "--validate-every", options.validate_every,
             "Number of steps between two validations; default: the value of --save-every");
  add_option(command, "--keep", options.keep, "WHICH",
             "Weights to write: best (by validation) or last; default: best with --validate-run, "
             "last without")
      ->check(CLI::IsMember({"best", "last"}));
}

void add_optimizer_arguments(CLI::App& command, TrainRunOptions& options) {
  add_number(command, "--steps", options.steps, "Number of optimizer steps")->required();
  add_number(command, "--batch", options.shape.batch, "Number of triples in a batch")
      ->capture_default_str();
  add_number(command, "--gradient-accumulation", options.shape.accumulate,
             "Number of batches whose gradients are accumulated for one optimizer step")
      ->capture_default_str();
  add_option(command, "--learning-rate", options.learning_rate, "X",
             "Learning rate after warm-up; default: 7e-6, as in the paper")
      ->check(above_zero);
  add_option(command, "--warmup-steps", options.warm_up, "N",
             "Number of steps with linear warm-up of the learning rate; default: 1 % of --steps")
      ->check(zero_or_above);
  add_option(command, "--schedule", options.schedule, "NAME",
             "Learning rate schedule after warm-up: constant, or linear (decay to 0)")
      ->check(CLI::IsMember({"constant", "linear"}))
      ->capture_default_str();
  add_option(command, "--weight-decay", options.weight_decay, "X",
             "Weight decay of AdamW; not applied to biases and layer norms")
      ->check(zero_or_above)
      ->capture_default_str();
  add_option(command, "--max-grad-norm", options.clip, "X",
             "Maximum gradient norm; 0 disables clipping")
      ->check(zero_or_above)
      ->capture_default_str();
  add_option(command, "--seed", options.shape.seed, "N",
             "Random seed for the order of triples and for a new classification head")
      ->check(zero_or_above)
      ->capture_default_str();
  command.add_flag("--recompute", options.recompute,
                   "Recompute activations in the backward pass (gradient checkpointing): less "
                   "memory, identical weights");
}

}  // namespace

void add_train_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TrainCommand>();
  TrainRunOptions& options = arguments->options;
  CLI::App* command =
      app.add_subcommand("train", "Fine-tune a cross-encoder with any attention pattern");
  add_model_arguments(*command, arguments->model);
  add_option(
      *command, "--triples", options.triples, "FILE",
      "Training triples, .tsv or .jsonl: QUERY, POSITIVE, NEGATIVE; for --margin-mse followed "
      "by the teacher's MARGIN or both scores; for --localized-ce with any number of negatives")
      ->required();
  add_option(*command, "--queries", options.queries, "FILE",
             "Query texts (QID, QUERY), for triples of ids");
  add_option(*command, "--documents", options.documents, "FILE",
             "Document texts (DOCID, TEXT), for triples of ids");
  add_beir_options(*command, arguments->beir,
                   "BEIR folder instead of --queries and --documents; validation uses its "
                   "judgements unless --validate-qrels is given");
  command->add_flag("--margin-mse", options.margin_mse,
                    "Loss: margin MSE to a teacher's score difference");
  command->add_flag("--ranknet", options.ranknet,
                    "Loss: RankNet, which ranks the positive above the negative");
  command->add_flag(
      "--localized-ce", options.localized_ce,
      "Loss: localized cross-entropy, which ranks the positive above all its negatives");
  add_optimizer_arguments(*command, options);
  add_number(*command, "--save-every", options.save_every,
             "Number of steps between two saved training states, from which an interrupted "
             "training resumes")
      ->capture_default_str();
  add_validation_arguments(*command, options);
  command->add_flag("--restart", options.restart,
                    "Start over, and delete an earlier training in the folder");
  command->add_flag("--events", arguments->events,
                    "Print one JSON line per step to standard output");
  add_option(*command, "-o,--output", options.out, "DIR", "Folder to write the trained model to")
      ->required();
  command->callback([&session, arguments, &options] {
    arguments->model.question.options.emplace("cls-only-last-layer");
    options.question = arguments->model.question;
    options.shape.with_margin = options.margin_mse;
    if (arguments->beir.is_given()) {
      const bool with_qrels = options.validates() && options.validate_qrels.empty();
      auto qrels = take_beir(arguments->beir, options.queries, options.documents, with_qrels);
      if (!qrels) return session.fail(qrels.error());
      if (with_qrels) options.validate_qrels = std::move(*qrels);
    }
    train(session, *arguments);
  });
}

}  // namespace attnscope::cli
