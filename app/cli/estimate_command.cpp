// SPDX-License-Identifier: GPL-3.0-or-later
//
// estimate: how long a sweep takes, and which pairs of pattern and implementation it can measure.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "base/sentences.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/report/number_text.h"
#include "engine/sweep/driver.h"
#include "engine/sweep/estimate.h"

namespace attnscope::cli {

namespace {

using nlohmann::json;

constexpr std::size_t most_settings = 8;  // points that differ in more than their length

struct EstimateCommand {
  std::string sweep;
  WorkerChoice worker;
  bool as_json = false, no_trial = false, now = false;
};

/// The shortest point of each setting of the other axes.
std::vector<HeatPoint> shortest_points(const Sweep& sweep) {
  std::vector<HeatPoint> points;
  for (const auto& heats : settings_of(sweep.heats))
    if (points.size() < most_settings) points.push_back(heats.front()->point);
  return points;
}

const HeatPoint& largest_point(const Sweep& sweep) {
  return std::ranges::max_element(sweep.heats, {},
                                  [](const Heat& heat) { return item_bytes(heat.point); })
      ->point;
}

/// The name that requests use for a contender: the pattern's, or the model's without options.
std::string requested_name(const Contender& contender) {
  return contender.model.empty() ? contender.pattern
                                 : contender.model.substr(0, contender.model.find('+'));
}

/// The sweep with only the heats that have a contender of this name; the whole sweep if none has.
Sweep with_heats_of(const std::string& name, const Sweep& sweep) {
  Sweep own = sweep;
  std::erase_if(own.heats, [&](const Heat& heat) {
    return std::ranges::none_of(heat.contenders, [&](const Contender& contender) {
      return requested_name(contender) == name;
    });
  });
  return own.heats.empty() ? sweep : own;
}

/// A pattern by the name that contenders use: its own, or that of a model's row.
struct NamedPattern {
  std::string name;
  AttentionPattern pattern;
};

/// The point with the length of its first document, which is in every batch: a lower bound for
/// random document lengths.
HeatPoint with_first_document(HeatPoint point) {
  const LengthDistribution lengths = std::exchange(point.document_lengths, {});
  if (lengths.is_drawn())
    point.sequence_tokens = tokens_with_words(point, lengths.words_of(0, point.seed));
  return point;
}

bool of_models(const Sweep& sweep) {
  return sweep.heats.front().point.operation == Operation::model;
}

/// The built-in patterns and, for a sweep of models, the model rows that use them.
std::vector<NamedPattern> shipped_patterns(const Sweep& sweep) {
  std::vector<NamedPattern> patterns;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    patterns.push_back({pattern.name, pattern});
    if (!of_models(sweep)) continue;
    for (const FamilyChoice& row : rows_with_pattern(pattern.name))
      patterns.push_back({std::string(row.name), pattern});
  }
  return patterns;
}

/// `patterns` and those of the sweep's contenders.
std::vector<NamedPattern> with_own_patterns(const Sweep& sweep,
                                            std::vector<NamedPattern> patterns) {
  for (const Contender& contender : contenders_of(sweep)) {
    std::string name = contender.pattern;
    if (const auto row = parse_model_row(contender.model); row && of_models(sweep))
      name = row->name;
    if (std::ranges::find(patterns, name, &NamedPattern::name) != patterns.end()) continue;
    auto own = parse_pattern(contender.pattern_json, contender.pattern);
    if (!own) continue;  // the run reports unreadable files
    patterns.push_back({name, std::move(*own)});
  }
  return patterns;
}

/// The first or the widest window of the sweep.
Window window_of(const Sweep& sweep, bool widest) {
  std::optional<Window> found;
  for (const Contender& contender : contenders_of(sweep)) {
    if (!contender.window) continue;
    const bool wider =
        found && !found->is_infinite() &&
        (contender.window->is_infinite() || contender.window->tokens() > found->tokens());
    if (!found || (widest && wider)) found = contender.window;
  }
  return found.value_or(Window::of(4));
}

Result<protocol::CountedCosts> costs_of(WorkerProcess& worker, const NamedPattern& named,
                                        const HeatPoint& point, Window window) {
  const auto request =
      costs_request(named.pattern, window, named.name, point, worker_cores(worker.hello()));
  if (!request) return tl::unexpected(request.error());
  return ask(worker, *request);
}

/// Upper bounds of the operations per second of a CPU core and of a GPU, where a multiply-add is
/// two operations; the time at this rate is a lower bound.
constexpr double flop_per_core = 2e11, flop_per_gpu = 2e15;

double rate_upper_bound(const HeatPoint& point, int cores) {
  if (point.device != DeviceKind::cpu) return flop_per_gpu;
  return flop_per_core * (point.threads > 0 ? std::min(point.threads, cores) : cores);
}

/// This pattern paired with every implementation. `reason` is empty if the implementation supports
/// at least one setting of the sweep.
json pairs_with(WorkerProcess& worker, const Sweep& whole, const NamedPattern& named) {
  const AttentionPattern& pattern = named.pattern;
  const Sweep sweep = with_heats_of(named.name, whole);
  const HeatPoint& largest = largest_point(sweep);
  json pairs = json::array();
  for (const protocol::ListedImplementation& listed : worker.hello().implementations) {
    pairs.push_back({{"pattern", named.name},
                     {"implementation", listed.id},
                     {"tokens", largest.sequence_tokens},
                     {"reason", "does not implement this pattern"}});
  }
  const auto take = [&](const Result<protocol::CountedCosts>& costs, auto&& each) {
    for (json& pair : pairs) {
      if (!costs) {
        each(pair, protocol::ImplementationCosts{.reason = costs.error().message});
        continue;
      }
      for (const protocol::ImplementationCosts& row : costs->implementations)
        if (pair.at("implementation") == row.id) each(pair, row);
    }
  };
  const double rate = rate_upper_bound(largest, worker_cores(worker.hello()));
  for (const HeatPoint& point : shortest_points(sweep)) {
    if (point.sequence_tokens > most_counted_tokens) {
      for (json& pair : pairs) pair["reason"] = "";  // unknown
      continue;
    }
    take(costs_of(worker, named, point, window_of(sweep, false)),
         [](json& pair, const protocol::ImplementationCosts& row) {
           if (!pair.at("reason").get<std::string>().empty()) pair["reason"] = row.reason;
         });
  }
  const HeatPoint first = with_first_document(largest);
  if (largest.sequence_tokens > most_counted_tokens) {
    const auto tokens = static_cast<double>(first.sequence_tokens);
    const double flop = 4 * tokens * tokens * static_cast<double>(largest.heads * largest.head_dim);
    for (json& pair : pairs) {
      pair["item_bytes"] = item_bytes(largest);
      pair["is_least"] = true;
      if (pattern.name != "full") continue;
      pair["least_seconds"] = flop / rate;
    }
    return pairs;
  }
  const auto executed_seconds = [&](json& pair, const protocol::ImplementationCosts& row) {
    if (row.reason.empty()) pair["least_seconds"] = row.executed_flop.value_or(0) / rate;
  };
  const Window widest = window_of(sweep, true);
  take(costs_of(worker, named, largest, widest),
       [&](json& pair, const protocol::ImplementationCosts& row) {
         if (!row.reason.empty()) {
           pair["reason_at_most_tokens"] = row.reason;
           return;
         }
         pair["item_bytes"] = item_bytes(largest) + static_cast<double>(row.peak_bytes.value_or(0));
         pair["is_least"] = !row.peak_bytes;
         executed_seconds(pair, row);
       });
  if (!(first == largest)) take(costs_of(worker, named, first, widest), executed_seconds);
  return pairs;
}

json without_trials(WorkerProcess& worker, const Sweep& sweep, bool all_patterns) {
  const HeatPoint& largest = largest_point(sweep);
  std::size_t cells = 0;
  for (const Heat& heat : sweep.heats) cells += heat.contenders.size();
  json answer = {{"heats", sweep.heats.size()},
                 {"cells", cells},
                 {"longest_seconds", longest_seconds(sweep)},
                 {"largest_tokens", largest.sequence_tokens},
                 {"batch_max", largest.batch_max},
                 {"batch_memory_mb", largest.batch_memory_mb},
                 {"pairs", json::array()}};
  if (const auto bytes = free_bytes(worker.hello(), largest.device))
    answer["available_bytes"] = *bytes;
  for (const NamedPattern& pattern : with_own_patterns(
           sweep, all_patterns ? shipped_patterns(sweep) : std::vector<NamedPattern>())) {
    for (json& pair : pairs_with(worker, sweep, pattern)) {
      answer["pairs"].push_back(pair);
      if (!of_models(sweep)) continue;
      // Options only omit work, so this is an upper bound.
      for (const FamilyChoice& option : family_of_row(pattern.name).row_options()) {
        pair["pattern"] = fmt::format("{}+{}", pattern.name, option.name);
        answer["pairs"].push_back(pair);
      }
    }
  }
  return answer;
}

/// `least`: total time in seconds of one call of each contender at the largest point.
std::string time_in_words(const json& answer, double least) {
  const auto longest = answer.at("longest_seconds").get<double>();
  if (const auto seconds = answer.find("estimated_seconds"); seconds != answer.end()) {
    return fmt::format(
        "about {} on this machine in its current state, estimated from trials at {} tokens",
        format_seconds(seconds->get<double>()),
        fmt::join(answer.at("trial_tokens").get<std::set<std::int64_t>>(), ", "));
  }
  const auto number = [](double seconds) {
    return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  };
  if (least > longest) {
    return fmt::format("more than {}, since one call of each contender takes that long",
                       number(least));
  }
  return fmt::format(
      "at most {} of timing (twice that on a busy machine), unless one call of each contender "
      "takes longer; set-up and checks are not included",
      number(longest));
}

/// One line for each contender, without its windows.
std::string as_text(const Sweep& sweep, const json& answer) {
  const double free = answer.value("available_bytes", std::numeric_limits<double>::infinity());
  double least = 0;  // one pass of each contender at the largest point
  std::string text;
  std::size_t width = 32;
  for (const Contender& contender : contenders_of(sweep))
    width = std::max(width, contender.id_without_window().size());
  std::set<std::string> listed;
  for (const Contender& contender : contenders_of(sweep)) {
    const std::string id = contender.id_without_window();
    if (!listed.insert(id).second) continue;
    std::string words;
    double seconds = 0;
    const std::string& row = contender.model.empty() ? contender.pattern : contender.model;
    // Rows with several options are not listed: options do not change the estimate.
    const auto names = [&](const std::string& name) {
      return std::ranges::any_of(answer.at("pairs"),
                                 [&](const json& pair) { return pair.at("pattern") == name; });
    };
    const std::string listed_as = names(row) ? row : requested_name(contender);
    for (const json& pair : answer.at("pairs")) {
      if (pair.at("pattern") != listed_as || pair.at("implementation") != contender.implementation)
        continue;
      words = pair.at("reason").get<std::string>();
      if (!words.empty()) continue;
      seconds = pair.value("least_seconds", 0.0);
      const auto tokens = pair.at("tokens").get<std::int64_t>();
      const double bytes = pair.value("item_bytes", 0.0);
      words = bytes > 0 ? fmt::format("{}{} for an item of {} tokens{}",
                                      pair.value("is_least", false) ? "at least " : "",
                                      report::format_bytes(bytes), tokens,
                                      bytes > free ? ", more than the free memory" : "")
                        : fmt::format("not possible at {} tokens: {}", tokens,
                                      pair.value("reason_at_most_tokens", "the reason is unknown"));
    }
    least += seconds;
    text += fmt::format("{:<{}} {}\n", id, width, words);
  }
  return fmt::format("{}, {}; {}\n\n", counted(answer.at("heats").get<std::size_t>(), "heat"),
                     counted(answer.at("cells").get<std::size_t>(), "cell"),
                     time_in_words(answer, least)) +
         text;
}

Result<json> ask_without_trials(const EstimateCommand& arguments, const Sweep& sweep) {
  auto worker = start(arguments.worker);
  if (!worker) return tl::unexpected(worker.error());
  if (Status known = check_implementations(sweep.heats, worker->hello()); !known)
    return tl::unexpected(known.error());
  return without_trials(*worker, sweep, arguments.as_json);
}

/// Measures trial heats when it is this command's turn.
Status add_trials(const EstimateCommand& arguments, const Sweep& sweep, json& answer) {
  auto turn = wait_for_turn(arguments.worker, devices_of(sweep.heats),
                            fmt::format("estimate of '{}'", sweep.name), arguments.now);
  if (!turn) return tl::unexpected(turn.error());
  catch_interrupts();
  const auto estimate = estimate_sweep(sweep, {.worker_command = arguments.worker.command,
                                               .with = arguments.worker.with,
                                               .cancel = &interrupts(),
                                               .on_trial = [](const Heat& heat) {
                                                 if (isatty(STDERR_FILENO) == 1) {
                                                   print_status("attnscope: measuring at {} tokens",
                                                                heat.point.sequence_tokens);
                                                 }
                                               }});
  if (!estimate) return tl::unexpected(estimate.error());
  if (!*estimate) return fail("interrupted");
  answer["estimated_seconds"] = (*estimate)->seconds;
  for (const HeatPoint& point : (*estimate)->measured)
    answer["trial_tokens"].push_back(point.sequence_tokens);
  return {};
}

void estimate(Session& session, const EstimateCommand& arguments) {
  const auto sweep = load_sweep(arguments.sweep);
  if (!sweep) return session.fail(sweep.error());
  auto answer = ask_without_trials(arguments, *sweep);
  if (!answer) return session.fail(answer.error());
  if (!arguments.no_trial) {
    if (const Status done = add_trials(arguments, *sweep, *answer); !done)
      return session.fail(done.error());
  }
  print_result(session, arguments.as_json ? answer->dump(2) + "\n" : as_text(*sweep, *answer));
}

}  // namespace

void add_estimate_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<EstimateCommand>();
  CLI::App* command = app.add_subcommand("estimate",
                                         "Estimate the duration and memory of a sweep on this "
                                         "machine, and list what cannot be measured");
  add_option(*command, "sweep", arguments->sweep, "SWEEP", "Sweep: JSON file or built-in name")
      ->required();
  add_worker_options(*command, arguments->worker);
  command->add_flag("--no-trial", arguments->no_trial,
                    "Measure nothing, and report only the upper limit given by the stop rule");
  add_now_option(*command, arguments->now);
  command->add_flag("--json", arguments->as_json,
                    "Print JSON, with every combination of pattern and implementation");
  command->callback([&session, arguments] { estimate(session, *arguments); });
}

}  // namespace attnscope::cli
