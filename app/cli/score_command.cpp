// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "app/cli/command_line.h"
#include "app/cli/score_run.h"

namespace attnscope::cli {

namespace {

struct ScoreCommandArguments {
  ModelArguments model;
  std::string pairs, pairs_format, format = "tsv", tag, out;
  ScoreOptions options;
};

std::atomic<int> interrupts = 0;

extern "C" void note_interrupt(int /*signal*/) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = &note_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

struct Closing {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closing>;

/// Everything that is checked before a worker is started.
struct Prepared {
  ScoringModel model;
  PairReader pairs;
  ScoreFormat format;
  File out;  // null: standard output
};

Result<Prepared> prepare(const ScoreCommandArguments& arguments) {
  const auto format = parse_score_format(arguments.format);
  if (!format) return tl::unexpected(format.error());
  std::optional<PairFormat> pairs_format;
  if (!arguments.pairs_format.empty()) {
    const auto parsed = parse_pair_format(arguments.pairs_format);
    if (!parsed) return tl::unexpected(parsed.error());
    pairs_format = *parsed;
  }
  auto pairs = PairReader::open(arguments.pairs, pairs_format);
  if (!pairs) return tl::unexpected(pairs.error());
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (!model->has_classifier) {
    return fail(
        "'{}' is an encoder without a classification head, so it gives no scores; take one that "
        "was trained to rank, with the tensors classifier.weight and classifier.bias",
        arguments.model.checkpoint);
  }
  File out;
  if (!arguments.out.empty()) {
    out.reset(std::fopen(arguments.out.c_str(), "we"));
    if (!out) return fail("{}: cannot be written; check the folder and its rights", arguments.out);
  }
  return Prepared{std::move(*model), std::move(*pairs), *format, std::move(out)};
}

void score(Session& session, const ScoreCommandArguments& arguments) {
  auto prepared = prepare(arguments);
  if (!prepared) return session.fail(exit_wrong_use, prepared.error().message);
  catch_interrupts();
  auto worker = start_model(arguments.model, prepared->model, &interrupts);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  ScoreOptions options = arguments.options;
  options.shows_progress = isatty(STDERR_FILENO) == 1;
  const std::string tag = arguments.tag.empty() ? prepared->model.name : arguments.tag;
  ScoreRun run(prepared->model, worker->process, prepared->pairs, {prepared->format, tag},
               prepared->out ? prepared->out.get() : stdout, interrupts, options);
  const Status done = run.run();
  if (!done) {
    return session.fail(exit_wrong_use, fmt::format("{} ({} scores before it are written)",
                                                    done.error().message, run.written()));
  }
  if (run.was_interrupted()) {
    session.fail(exit_cancelled,
                 fmt::format("interrupted; the scores of {} pairs are written", run.written()));
  }
}

}  // namespace

void add_score_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ScoreCommandArguments>();
  CLI::App* command =
      app.add_subcommand("score", "Score queries and documents by a cross-encoder's checkpoint");
  add_model_arguments(*command, arguments->model);
  command
      ->add_option("--pairs", arguments->pairs,
                   "Queries and documents, one pair a line: .tsv, .jsonl, or - for standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--pairs-format", arguments->pairs_format, "tsv or jsonl; else by the name")
      ->type_name("FORMAT");
  command->add_option("--format", arguments->format, "tsv, trec or jsonl")->type_name("FORMAT");
  command->add_option("--tag", arguments->tag, "Of a TREC run; else the checkpoint's name")
      ->type_name("TEXT");
  command->add_flag("--cls-only-last-layer", arguments->model.question.cls_only_last_layer,
                    "Compute of the last layer only what [CLS] needs: the same scores, sooner");
  command->add_option("--batch-tokens", arguments->options.batches.tokens, "Most tokens of a batch")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--batch-pairs", arguments->options.batches.pairs, "Most pairs of a batch")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--read-ahead", arguments->options.read_ahead,
                   "Pairs that are read before batches are made of them")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->out, "Else standard output")->type_name("FILE");
  command->callback([&session, arguments] { score(session, *arguments); });
}

}  // namespace attnscope::cli
