// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/scoring_arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/progress_line.h"
#include "engine/effectiveness/trec_files.h"

namespace attnscope::cli {

void add_scoring_arguments(CLI::App& command, ModelArguments& model, ScoreOptions& options) {
  model.question.only_scores = true;
  CLI::Option* shorter = command.add_flag_callback(
      "--cls-only-last-layer", [&model] { model.question.options.emplace("cls-only-last-layer"); },
      "Require that the last layer is computed for [CLS] alone, and refuse models where it cannot "
      "be; by default it is wherever scores are the same");
  command
      .add_flag_callback(
          "--whole-last-layer", [&model] { model.question.only_scores = false; },
          "Compute the last layer for all tokens, although scores are the same")
      ->excludes(shorter);
  command
      .add_option("--precision", model.question.precision,
                  "Precision of the linear layers' products: float32, bfloat16 or int8; everything "
                  "else stays float32")
      ->type_name("P")
      ->capture_default_str();
  command
      .add_option("--batch-tokens", options.batches.tokens, "Maximum number of tokens in a batch")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command.add_option("--batch-pairs", options.batches.pairs, "Maximum number of pairs in a batch")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command
      .add_option("--read-ahead", options.read_ahead,
                  "Number of pairs read ahead before they are batched")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
}

void add_precision_arguments(CLI::App& command, PrecisionArguments& arguments) {
  command
      .add_option_function<std::int64_t>(
          "--precision-sample",
          [&arguments](std::int64_t pairs) {
            arguments.sample = pairs;
            arguments.is_sample_given = true;
          },
          "Number of first pairs that are also scored in float32 to report what --precision "
          "changes; 0 disables it. Default: 256, or all with --qrels")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000));
  command
      .add_option("--qrels", arguments.qrels,
                  "Judgements, optionally .gz: also report what --precision changes in nDCG@10, "
                  "and whether it is equivalent within 0.02")
      ->type_name("FILE");
}

void enlarge_for_cache(const CLI::App& command, ScoreOptions& options) {
  constexpr std::int64_t many = 16'384;
  if (command.get_option("--batch-pairs")->count() == 0) options.batches.pairs = many;
  if (command.get_option("--batch-tokens")->count() == 0)
    options.batches.tokens = std::numeric_limits<std::int64_t>::max() / 2;
  if (command.get_option("--read-ahead")->count() == 0) options.read_ahead = many;
}

Result<std::optional<PrecisionComparison>> PrecisionComparison::start(
    const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& requested,
    const OpenedCache* cache) {
  const std::string& precision = model.question.precision;
  if (precision == "float32") {
    if (requested.qrels.empty() && !requested.is_sample_given) return std::nullopt;
    return fail(
        "{} tells what another --precision than float32 costs; give one, or 'attnscope evaluate' "
        "the run",
        requested.qrels.empty() ? "--precision-sample" : "--qrels");
  }
  if (requested.sample == 0) return std::nullopt;
  std::optional<effectiveness::Qrels> qrels;
  if (!requested.qrels.empty()) {
    auto read = effectiveness::Qrels::read(requested.qrels);
    if (!read) return tl::unexpected(read.error());
    qrels = std::move(*read);
  }
  const std::int64_t sample = qrels && !requested.is_sample_given ? -1 : requested.sample;
  protocol::ModelRequest request = scored.request;
  request.precision = Products::float32;
  auto worker = start_model(model, std::move(request), &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  if (cache != nullptr) {
    if (Status opened = cache->open_in(worker->process); !opened)
      return tl::unexpected(opened.error());
  }
  return PrecisionComparison{std::move(worker->process), sample, {precision, std::move(qrels)}};
}

Status run_with_progress(ScoreRun& run, PrecisionComparison* comparison) {
  CountLine progress(isatty(STDERR_FILENO) == 1);
  run.report_to(
      [&](std::int64_t pairs, std::optional<double> share) {
        progress.show(fmt::format("{} pairs", pairs), static_cast<double>(pairs), share);
      },
      [&] { progress.clear(); });
  if (comparison != nullptr) {
    run.compare_with(
        comparison->worker, comparison->sample,
        [&](const std::string& query, const std::string& document, float score, float exact) {
          comparison->cost.add(query, document, {.narrow = score, .exact = exact});
        });
  }
  const Status done = run.run();
  if (comparison != nullptr) {
    for (const std::string& sentence : comparison->cost.sentences()) say("attnscope: {}", sentence);
  }
  note(run.ties_in_words());
  return done;
}

}  // namespace attnscope::cli
