// SPDX-License-Identifier: GPL-3.0-or-later
//
// latency: how long a checkpoint takes to re-rank the user's queries, and how many documents it
// ranks within a time limit.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/scoring_arguments.h"
#include "app/cli/text_arguments.h"
#include "app/cli/turn.h"
#include "base/sentences.h"
#include "engine/ranking/latency.h"
#include "engine/ranking/query_sample.h"
#include "engine/report/model_profile.h"

namespace attnscope::cli {

namespace {

struct LatencyCommand {
  ModelArguments model;
  ScoreOptions options;
  std::string pairs, format = "text", quantile = "p95";
  std::vector<std::int64_t> top_k{10, 20, 50, 100};
  bool has_top_k = false;  // given explicitly
  bool now = false;
  double within_ms = 200;
  std::int64_t queries = 50;
};

Result<int> percent_of(const std::string& quantile) {
  for (const int percent : {50, 95, 99})
    if (quantile == fmt::format("p{}", percent)) return percent;
  return fail("--quantile '{}' is none of p50, p95 and p99", in_a_sentence(quantile));
}

/// Ascending, without duplicates.
Result<std::vector<std::int64_t>> requested_top_k(const LatencyCommand& arguments) {
  std::vector<std::int64_t> sorted = arguments.top_k;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) return fail("--top-k names {} twice; leave one of them out", *twice);
  return sorted;
}

/// The largest possible number of documents per query, and what limits it.
struct MostDocuments {
  std::int64_t count = 0;
  std::string in_words;
};

MostDocuments most_documents(const QuerySample& sample, const LatencyCommand& arguments,
                             const ScoringModel& model, const std::string& file) {
  const auto ahead = static_cast<std::int64_t>(arguments.options.read_ahead);
  // As in `score`: a larger set is not accepted.
  if (model.is_listwise && ahead < sample.documents())
    return {ahead, "as many as --read-ahead lets a set have"};
  if (sample.documents() == QuerySample::most_documents)
    return {sample.documents(), "the most that are tried"};
  return {sample.documents(), fmt::format("all that {} has", file)};
}

/// Drops default values that exceed the number of documents; an explicit value that exceeds it is
/// an error.
Status keep_possible(std::vector<std::int64_t>& top_k, const MostDocuments& most, bool are_given) {
  if (top_k.back() <= most.count) return {};
  if (are_given) {
    return fail("--top-k {} is more than {} documents, {}; ask for fewer", top_k.back(), most.count,
                most.in_words);
  }
  std::erase_if(top_k, [&](std::int64_t k) { return k > most.count; });
  if (top_k.empty()) top_k.push_back(most.count);
  return {};
}

Result<TopKLatency> single_stream(LatencyMeter& meter, std::int64_t top_k) {
  CountLine progress(isatty(STDERR_FILENO) == 1);
  auto calls = meter.single_stream(top_k, [&](std::size_t count) {
    progress.show(fmt::format("{} queries of {} documents", count, top_k),
                  static_cast<double>(count), std::nullopt);
  });
  progress.clear();
  return calls;
}

Result<std::vector<TopKLatency>> rows_of(LatencyMeter& meter,
                                         const std::vector<std::int64_t>& top_k,
                                         const LatencyLimit& limit) {
  const auto seconds = meter.seconds_for(top_k, limit);
  if (!seconds) return tl::unexpected(seconds.error());
  say("attnscope: {} calls at {} documents, single stream and offline, and the search for the "
      "largest top-k within {:g} ms take about {}",
      meter.calls(), fmt::join(top_k, ", "), 1e3 * limit.seconds, format_seconds(*seconds));
  std::vector<TopKLatency> rows;
  rows.reserve(top_k.size());
  for (const std::int64_t k : top_k) {
    auto row = single_stream(meter, k);
    if (!row) return tl::unexpected(row.error());
    if (Status timed = meter.add_offline(*row); !timed) return tl::unexpected(timed.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

std::vector<std::string> notes_on(const report::ModelLatency& latency, const QuerySample& sample,
                                  const ScoringModel& model) {
  std::vector<std::string> notes;
  std::int64_t most = latency.rows.back().top_k;
  for (const auto* found : {&latency.largest.within, &latency.largest.beyond})
    if (*found) most = std::max(most, (*found)->top_k);
  if (const auto [queries, documents] = sample.borrowed(most); queries > 0) {
    notes.push_back(fmt::format(
        "{} of {} queries have fewer than {} documents in {}: {} of {} documents are other "
        "queries', in the file's order",
        queries, latency.queries, most, latency.pairs, documents, latency.queries * most));
  }
  if (model.keeps_documents) {
    notes.emplace_back(
        "Both texts of each pair are encoded each time; score --cache encodes queries alone");
  }
  return notes;
}

Result<report::ModelLatency> measured(const LatencyCommand& arguments) {
  const auto percent = percent_of(arguments.quantile);
  if (!percent) return tl::unexpected(percent.error());
  auto top_k = requested_top_k(arguments);
  if (!top_k) return tl::unexpected(top_k.error());
  QuerySample sample(arguments.queries);
  const Status read = read_pairs(arguments.pairs, [&](const PairReader&, TextPair pair) {
    return sample.add(std::move(pair));
  });
  if (!read) return tl::unexpected(read.error());
  const auto model = open_ranker(arguments.model);
  if (!model) return tl::unexpected(model.error());
  const std::string file = std::filesystem::path(arguments.pairs).filename().string();
  const MostDocuments most = most_documents(sample, arguments, *model, file);
  if (Status possible = keep_possible(*top_k, most, arguments.has_top_k); !possible)
    return tl::unexpected(possible.error());
  auto turn =
      wait_for_turn(arguments.model, fmt::format("latency of {}", model->name), arguments.now);
  if (!turn) return tl::unexpected(turn.error());
  auto worker = start_model(arguments.model, model->request, &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  const int threads =
      arguments.model.threads > 0 ? arguments.model.threads : worker_cores(worker->process.hello());
  const ModelQuestion& question = arguments.model.question;
  report::ModelLatency latency{
      .model = model->name,
      .pairs = file,
      .implementation = worker->implementation,
      .dtype = question.multiplies_in(),
      .device = question.device == "cpu" ? counted(static_cast<std::size_t>(threads), "thread")
                                         : question.device,
      .queries = static_cast<std::int64_t>(sample.queries()),
      .limit = {.seconds = arguments.within_ms / 1e3, .percent = *percent, .most = most.count},
      .most_in_words = most.in_words};
  constexpr std::int64_t at_least = 50;
  LatencyMeter meter(arguments.pairs, *model, worker->process, arguments.options, sample,
                     std::max(at_least, least_calls(*percent)), interrupts());
  auto rows = rows_of(meter, *top_k, latency.limit);
  if (!rows) return tl::unexpected(rows.error());
  latency.rows = std::move(*rows);
  auto largest = largest_within(latency.limit, latency.rows, [&](std::int64_t documents) {
    return single_stream(meter, documents);
  });
  if (!largest) return tl::unexpected(largest.error());
  latency.largest = std::move(*largest);
  latency.tokens = meter.tokens();
  latency.notes = notes_on(latency, sample, *model);
  if (std::string others = note_on_others(*turn); !others.empty())
    latency.notes.push_back(std::move(others));
  return latency;
}

void print_latency(Session& session, const LatencyCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  catch_interrupts();
  const auto latency = measured(arguments);
  if (!latency) return session.fail(latency.error());
  print_result(session, report::write_latency(*latency, *format));
}

}  // namespace

void add_latency_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<LatencyCommand>();
  CLI::App* command = app.add_subcommand(
      "latency",
      "Measure how long re-ranking a query takes, and how many documents fit into a time limit");
  add_model_arguments(*command, arguments->model);
  add_pairs_option(*command, arguments->pairs);
  command
      ->add_option(
          "--top-k", arguments->top_k,
          "Documents per query, such as 10,100; default: 10, 20, 50 and 100 as far as available")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(above_zero);
  command
      ->add_option("--within", arguments->within_ms,
                   "Time limit of a query in milliseconds; reports the largest top-k within it")
      ->type_name("MS")
      ->capture_default_str()
      ->check(above_zero);
  command
      ->add_option("--quantile", arguments->quantile,
                   "Share of queries that must be within the limit: p50, p95 or p99")
      ->type_name("P")
      ->capture_default_str();
  command
      ->add_option(
          "--queries", arguments->queries,
          "Number of queries, from the head of the file; fewer than 50 (100 for p99) are repeated")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command->add_option("--format", arguments->format, report::table_format_words())
      ->type_name("FORMAT");
  add_now_option(*command, arguments->now);
  add_scoring_arguments(*command, arguments->model, arguments->options);
  command->callback([&session, arguments, command] {
    arguments->has_top_k = command->get_option("--top-k")->count() > 0;
    print_latency(session, *arguments);
  });
}

}  // namespace attnscope::cli
