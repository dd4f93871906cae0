// SPDX-License-Identifier: GPL-3.0-or-later
//
// profile: where a checkpoint's time goes on a person's own pairs, from texts to scores.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/score_run.h"
#include "app/cli/worker_requests.h"
#include "engine/report/model_profile.h"
#include "engine/scoring/score_batches.h"
#include "engine/text/pair_reader.h"
#include "kernels/base/sentences.h"

namespace attnscope::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct ProfileCommand {
  ModelArguments model;
  ScoreOptions options;
  std::string pairs, format = "text";
  std::int64_t most_pairs = 1000, rounds = 5;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The first pairs of the file.
Result<std::vector<TextPair>> first_pairs(const ProfileCommand& arguments) {
  auto reader = PairReader::open(arguments.pairs, std::nullopt);
  if (!reader) return tl::unexpected(reader.error());
  std::vector<TextPair> pairs;
  while (static_cast<std::int64_t>(pairs.size()) < arguments.most_pairs) {
    auto pair = reader->next();
    if (!pair) return tl::unexpected(pair.error());
    if (!*pair) break;
    pairs.push_back(std::move(**pair));
  }
  if (pairs.empty()) {
    return fail("{}: has no pairs; write QUERY <tab> DOCUMENT, one a line",
                in_a_sentence(arguments.pairs, 400));
  }
  return pairs;
}

/// Passes over the pairs.
class Profiler {
 public:
  Profiler(const ProfileCommand& arguments, const ScoringModel& model, WorkerProcess& worker)
      : arguments_(arguments), model_(model), worker_(worker), limits_(arguments.options.batches) {
    limits_.whole_queries = model.is_listwise;
  }

  [[nodiscard]] Result<report::ProfiledRound> pass(const std::vector<TextPair>& texts,
                                                   report::ProfiledPairs& of) {
    const Clock::time_point start = Clock::now();
    std::vector<TokenPair> pairs;
    pairs.reserve(texts.size());
    for (const TextPair& text : texts) {
      auto tokens = model_.tokenizer->encode(text.query, text.document, model_.limits);
      if (!tokens) {
        return fail("{}, line {}: {}", in_a_sentence(arguments_.pairs, 400), text.line,
                    tokens.error().message);
      }
      pairs.push_back(std::move(*tokens));
    }
    report::ProfiledRound round{.tokenizer_seconds = seconds_since(start)};
    of.part_flop.clear();
    for (const ScoreBatch& batch : score_batches(pairs, limits_)) {
      if (Status scored = score(batch, pairs, round, of); !scored)
        return tl::unexpected(scored.error());
    }
    round.whole_seconds = seconds_since(start);
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

  Status score(const ScoreBatch& batch, const std::vector<TokenPair>& pairs,
               report::ProfiledRound& round, report::ProfiledPairs& of) {
    nlohmann::json items = nlohmann::json::array();
    for (const std::size_t at : batch.pairs) items.push_back(pair_json(pairs[at]));
    const Status sent = worker_.send({{"request", "score"},
                                      {"cls", model_.tokenizer->cls()},
                                      {"parts", true},
                                      {"one_query", batch.one_query},
                                      {"items", std::move(items)}});
    if (!sent) return sent;
    const auto answer = wait_for(worker_, "score", interrupts());
    if (!answer) return tl::unexpected(answer.error());
    if (!*answer) {
      worker_.kill();
      return fail("interrupted");
    }
    for (const auto& part : (*answer)->at("parts")) {
      const auto name = part.at("name").get<std::string>();
      add(name, part.at("seconds").get<double>(), round.part_seconds);
      if (part.contains("flop")) add(name, part.at("flop").get<double>(), of.part_flop);
    }
    return {};
  }

  const ProfileCommand& arguments_;
  const ScoringModel& model_;
  WorkerProcess& worker_;
  BatchLimits limits_;
};

Result<double> ceiling_of(WorkerProcess& worker, int threads) {
  double rate = 0;
  const Status told = ask(worker, {{"request", "ceilings"}, {"threads", threads}},
                          [&](const nlohmann::json& event) {
                            if (event.value("event", "") != "ceilings") return false;
                            rate = event.at("ceilings").at("flop_per_second").get<double>();
                            return true;
                          });
  if (!told) return tl::unexpected(told.error());
  return rate;
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
  auto worker = start_model(arguments.model, model->request, &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  const int threads =
      arguments.model.threads > 0 ? arguments.model.threads : worker_cores(worker->process.hello());
  report::ProfiledPairs of{.model = model->name,
                           .pairs = std::filesystem::path(arguments.pairs).filename().string(),
                           .implementation = worker->implementation,
                           .dtype = arguments.model.question.precision == "float32"
                                        ? arguments.model.question.dtype
                                        : arguments.model.question.precision,
                           .threads = threads};
  Profiler profiler(arguments, *model, worker->process);
  // The first pass warms up: weights are packed and memory is asked for.
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
  report::ModelProfile profile(std::move(of));
  for (report::ProfiledRound& round : rounds) profile.add(std::move(round));
  return profile;
}

void print_profile(Session& session, const ProfileCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  catch_interrupts();
  const auto profile = profiled(arguments);
  if (!profile) return session.fail(profile.error());
  print_result(session, report::write_profile(*profile, *format));
}

}  // namespace

void add_profile_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ProfileCommand>();
  CLI::App* command = app.add_subcommand(
      "profile", "Where a checkpoint's time goes on your pairs, from texts to scores");
  add_model_arguments(*command, arguments->model);
  command
      ->add_option("--pairs", arguments->pairs,
                   "Queries and documents as score takes them: .tsv or .jsonl")
      ->type_name("FILE")
      ->required();
  command->add_option("--most-pairs", arguments->most_pairs, "The first of the file")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command->add_option("--rounds", arguments->rounds, "Passes over them, behind one to warm up")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command->add_option("--format", arguments->format, report::table_format_words())
      ->type_name("FORMAT");
  add_scoring_arguments(*command, arguments->model, arguments->options);
  command->callback([&session, arguments] { print_profile(session, *arguments); });
}

}  // namespace attnscope::cli
