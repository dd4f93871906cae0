// SPDX-License-Identifier: GPL-3.0-or-later
//
// latency and profile: time a checkpoint on the user's pairs, as a whole and by parts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/sentences.h"
#include "engine/ranking/latency.h"
#include "engine/ranking/text_scorer.h"
#include "engine/report/model_profile.h"
#include "engine/text/pair_reader.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/printable.h"
#endif

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
  return fail("--quantile is '{}'; write p50, p95 or p99", in_a_sentence(quantile));
}

/// Ascending, without duplicates.
Result<std::vector<std::int64_t>> requested_top_k(const LatencyCommand& arguments) {
  std::vector<std::int64_t> sorted = arguments.top_k;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) return fail("--top-k contains {} twice; give it once", *twice);
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
  // `score` accepts no larger set either.
  if (model.is_listwise && ahead < sample.documents())
    return {ahead, "the limit of --read-ahead for a set"};
  if (sample.documents() == QuerySample::most_documents)
    return {sample.documents(), "the largest number that is tried"};
  return {sample.documents(), fmt::format("all documents of {}", file)};
}

/// Drops default values that exceed the number of documents; an explicit value that exceeds it is
/// an error.
Status keep_possible(std::vector<std::int64_t>& top_k, const MostDocuments& most, bool are_given) {
  if (top_k.back() <= most.count) return {};
  if (are_given) {
    return fail("--top-k {} is more than {} documents, {}; give a smaller number", top_k.back(),
                most.count, most.in_words);
  }
  std::erase_if(top_k, [&](std::int64_t k) { return k > most.count; });
  if (top_k.empty()) top_k.push_back(most.count);
  return {};
}

Result<TopKLatency> single_stream(LatencyMeter& meter, std::int64_t top_k) {
  CountLine progress;
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
  print_status(
      "attnscope: measuring {} calls at {} documents, single stream and offline, and the largest "
      "top-k within {:g} ms; this takes about {}",
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
        "{} of {} queries have fewer than {} documents in {}: {} of {} documents are taken from "
        "other queries, in the order of the file",
        queries, latency.queries, most, latency.pairs, documents, latency.queries * most));
  }
  if (model.keeps_documents) {
    notes.emplace_back(
        "Query and document of each pair are encoded in every call; score --cache encodes only "
        "queries");
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
  const ModelQuestion& question = arguments.model.question;
  report::ModelLatency latency{
      .model = model->name,
      .pairs = file,
      .implementation = worker->implementation,
      .dtype = question.multiplies_in(),
      .device = question.device == "cpu"
                    ? counted(static_cast<std::size_t>(worker->threads), "thread")
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
  if (!format) return session.fail(format.error());
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
      "Measure the latency of re-ranking a query, and how many documents fit into a time limit");
  add_model_arguments(*command, arguments->model);
  add_pairs_option(*command, arguments->pairs);
  add_option(*command, "--top-k", arguments->top_k, "N,...",
             "Numbers of documents per query, such as 10,100; default: 10, 20, 50 and 100, up to "
             "the number of documents in the file")
      ->delimiter(',')
      ->check(above_zero);
  add_option(*command, "--within", arguments->within_ms, "MS",
             "Latency limit of a query in milliseconds; the largest top-k within it is reported")
      ->capture_default_str()
      ->check(above_zero);
  add_option(*command, "--quantile", arguments->quantile, "P",
             "Share of queries whose latency must be within the limit: p50, p95 or p99")
      ->capture_default_str();
  add_count(
      *command, "--queries", arguments->queries,
      "Number of queries to measure, the first ones of --pairs; if they are fewer than 50 (100 "
      "for p99), each is measured several times")
      ->capture_default_str();
  add_format_option(*command, arguments->format);
  add_now_option(*command, arguments->now);
  add_scoring_arguments(*command, arguments->model, arguments->options);
  command->callback([&session, arguments, command] {
    arguments->has_top_k = command->get_option("--top-k")->count() > 0;
    print_latency(session, *arguments);
  });
}

namespace {

using Clock = std::chrono::steady_clock;

struct ProfileCommand {
  ModelArguments model;
  ScoreOptions options;
  std::string pairs, format = "text";
  FigureArguments figure;
  std::int64_t most_pairs = 1000, rounds = 5;
  bool now = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<std::vector<TextPair>> first_pairs(const ProfileCommand& arguments) {
  std::vector<TextPair> pairs;
  const Status read = read_pairs(arguments.pairs, [&](const PairReader&, TextPair pair) {
    pairs.push_back(std::move(pair));
    return static_cast<std::int64_t>(pairs.size()) < arguments.most_pairs;
  });
  if (!read) return tl::unexpected(read.error());
  return pairs;
}

/// Runs and times passes over the pairs.
class Profiler {
 public:
  Profiler(const ProfileCommand& arguments, const ScoringModel& model, WorkerProcess& worker)
      : scorer_(arguments.pairs, model, worker, arguments.options.batches, interrupts(),
                [this](const std::vector<protocol::ScoredPart>& parts) { add(parts); }) {}

  [[nodiscard]] Result<report::ProfiledRound> pass(const std::vector<TextPair>& texts,
                                                   report::ProfiledPairs& of) {
    const Clock::time_point start = Clock::now();
    std::vector<TokenPair> pairs;
    pairs.reserve(texts.size());
    for (const TextPair& text : texts) {
      auto tokens = scorer_.tokens_of(text.query, text.document, text.line);
      if (!tokens) return tl::unexpected(tokens.error());
      pairs.push_back(std::move(*tokens));
    }
    report::ProfiledRound round{.tokenizer_seconds = seconds_since(start)};
    seconds_.clear();
    flop_.clear();
    if (Status sent = scorer_.queue(pairs, 1); !sent) return tl::unexpected(sent.error());
    if (Status scored = scorer_.finish(); !scored) return tl::unexpected(scored.error());
    round.whole_seconds = seconds_since(start);
    round.part_seconds = seconds_;
    of.part_flop = flop_;
    of.count = static_cast<std::int64_t>(pairs.size());
    of.tokens = 0;
    for (const TokenPair& pair : pairs) of.tokens += tokens_of(pair);
    return round;
  }

 private:
  using Numbers = std::vector<std::pair<std::string, double>>;
  static void add(const std::string& name, double number, Numbers& to) {
    const auto known = std::ranges::find(to, name, &std::pair<std::string, double>::first);
    if (known == to.end()) {
      to.emplace_back(name, number);
    } else {
      known->second += number;
    }
  }

  void add(const std::vector<protocol::ScoredPart>& parts) {
    for (const protocol::ScoredPart& part : parts) {
      add(part.name, part.seconds, seconds_);
      if (part.flop) add(part.name, *part.flop, flop_);
    }
  }

  TextScorer scorer_;
  Numbers seconds_, flop_;  // per pass
};

Result<double> ceiling_of(WorkerProcess& worker, int threads) {
  return ask(worker, protocol::CeilingsRequest{.threads = threads})
      .map([](const protocol::MeasuredCeilings& measured) {
        return measured.ceilings.flop_per_second;
      });
}

Result<report::ModelProfile> profiled(const ProfileCommand& arguments) {
  if (arguments.model.question.device != "cpu") {
    return fail("profile measures on the CPU; remove --device {}",
                in_a_sentence(arguments.model.question.device));
  }
  const auto texts = first_pairs(arguments);
  if (!texts) return tl::unexpected(texts.error());
  const auto model = open_ranker(arguments.model);
  if (!model) return tl::unexpected(model.error());
  auto turn =
      wait_for_turn(arguments.model, fmt::format("profile of {}", model->name), arguments.now);
  if (!turn) return tl::unexpected(turn.error());
  auto worker = start_model(arguments.model, model->request, &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  report::ProfiledPairs of{.model = model->name,
                           .pairs = std::filesystem::path(arguments.pairs).filename().string(),
                           .implementation = worker->implementation,
                           .dtype = arguments.model.question.multiplies_in(),
                           .threads = worker->threads};
  Profiler profiler(arguments, *model, worker->process);
  // The first pass is a warm-up: it packs weights and allocates memory.
  std::vector<report::ProfiledRound> rounds;
  for (std::int64_t round = 0; round <= arguments.rounds; ++round) {
    auto pass = profiler.pass(*texts, of);
    if (!pass) return tl::unexpected(pass.error());
    if (round > 0) rounds.push_back(std::move(*pass));
  }
  if (of.dtype == "float32") {
    const auto ceiling = ceiling_of(worker->process, worker->threads);
    if (!ceiling) return tl::unexpected(ceiling.error());
    of.flop_per_second = *ceiling;
  }
  note(note_on_others(*turn));
  report::ModelProfile profile(std::move(of));
  for (report::ProfiledRound& round : rounds) profile.add(std::move(round));
  return profile;
}

#ifdef ATTNSCOPE_HAS_GUI

void draw_profile(Session& session, const report::ModelProfile& profile,
                  const ProfileCommand& arguments, const charts::FigureOptions& options) {
  charts::Printable what = charts::printable(report::profile_figure(profile));
  what.inputs = {arguments.pairs};
  write_figure(session, what, arguments.figure, options);
}

#endif

void print_profile(Session& session, const ProfileCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(format.error());
#ifdef ATTNSCOPE_HAS_GUI
  const auto options = figure_options(arguments.figure, charts::venues.front().width_mm);
  if (!options) return session.fail(options.error());
#else
  if (!arguments.figure.file.empty()) {
    return session.fail(exit_wrong_use,
                        "this build has no Qt and cannot draw; --format csv prints the numbers.");
  }
#endif
  catch_interrupts();
  const auto profile = profiled(arguments);
  if (!profile) return session.fail(profile.error());
  print_result(session, report::write_profile(*profile, *format));
#ifdef ATTNSCOPE_HAS_GUI
  if (!arguments.figure.file.empty()) draw_profile(session, *profile, arguments, *options);
#endif
}

}  // namespace

void add_profile_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ProfileCommand>();
  CLI::App* command = app.add_subcommand(
      "profile", "Profile the parts of a checkpoint on your pairs, from text to score");
  add_model_arguments(*command, arguments->model);
  add_pairs_option(*command, arguments->pairs);
  add_count(*command, "--max-pairs", arguments->most_pairs,
            "Maximum number of pairs, from the beginning of the file")
      ->capture_default_str();
  add_count(*command, "--rounds", arguments->rounds,
            "Number of timed passes over the pairs, after one warm-up pass")
      ->capture_default_str();
  add_format_option(*command, arguments->format);
  add_now_option(*command, arguments->now);
  add_scoring_arguments(*command, arguments->model, arguments->options);
  add_figure_arguments(*command, arguments->figure, "lncs");
  command->get_option("--output")->required(false);
  command->callback([&session, arguments] { print_profile(session, *arguments); });
}

}  // namespace attnscope::cli
