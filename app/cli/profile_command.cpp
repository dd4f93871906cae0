// SPDX-License-Identifier: GPL-3.0-or-later
//
// profile: the time of a checkpoint's parts on the user's pairs, from texts to scores.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/model_arguments.h"
#include "app/cli/scoring_arguments.h"
#include "app/cli/text_arguments.h"
#include "app/cli/turn.h"
#include "app/cli/worker_requests.h"
#include "base/sentences.h"
#include "engine/ranking/score_batches.h"
#include "engine/ranking/text_scorer.h"
#include "engine/report/model_profile.h"
#include "engine/text/pair_reader.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/offscreen_application.h"
#include "app/drawing/printable.h"
#endif

namespace attnscope::cli {

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
    return fail("parts are timed on the processor; leave --device {} out",
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
  const int threads =
      arguments.model.threads > 0 ? arguments.model.threads : worker_cores(worker->process.hello());
  report::ProfiledPairs of{.model = model->name,
                           .pairs = std::filesystem::path(arguments.pairs).filename().string(),
                           .implementation = worker->implementation,
                           .dtype = arguments.model.question.multiplies_in(),
                           .threads = threads};
  Profiler profiler(arguments, *model, worker->process);
  // The first pass is a warm-up: it packs weights and allocates memory.
  std::vector<report::ProfiledRound> rounds;
  for (std::int64_t round = 0; round <= arguments.rounds; ++round) {
    auto pass = profiler.pass(*texts, of);
    if (!pass) return tl::unexpected(pass.error());
    if (round > 0) rounds.push_back(std::move(*pass));
  }
  if (of.dtype == "float32") {
    const auto ceiling = ceiling_of(worker->process, threads);
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
  const charts::OffscreenApplication application;
  write_and_report(session, what, arguments.figure, options);
}

#endif

void print_profile(Session& session, const ProfileCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
#ifdef ATTNSCOPE_HAS_GUI
  const auto options = figure_options(arguments.figure, charts::venues.front().width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
#else
  if (!arguments.figure.file.empty()) {
    return session.fail(exit_wrong_use,
                        "this build has no Qt and cannot draw; --format csv has the numbers.");
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
  CLI::App* command =
      app.add_subcommand("profile", "Profile a checkpoint on your pairs, from texts to scores");
  add_model_arguments(*command, arguments->model);
  add_pairs_option(*command, arguments->pairs);
  command
      ->add_option("--max-pairs", arguments->most_pairs,
                   "Maximum number of pairs, from the head of the file")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command->add_option("--rounds", arguments->rounds, "Number of passes after one warm-up pass")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command->add_option("--format", arguments->format, report::table_format_words())
      ->type_name("FORMAT");
  add_now_option(*command, arguments->now);
  add_scoring_arguments(*command, arguments->model, arguments->options);
  add_figure_arguments(*command, arguments->figure, "lncs");
  command->get_option("--output")->required(false);
  command->callback([&session, arguments] { print_profile(session, *arguments); });
}

}  // namespace attnscope::cli
