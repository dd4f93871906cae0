// SPDX-License-Identifier: GPL-3.0-or-later
//
// foresee: what a sweep would take, and which pairs of pattern and implementation could be measured
// in it, asked of the implementations without running anything.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/report/table.h"
#include "engine/sweep/driver.h"

namespace attnscope::cli {

namespace {

using nlohmann::json;

constexpr std::size_t most_settings = 8;  // points that differ in more than their length

struct ForeseeCommandArguments {
  std::string sweep, worker;
  bool as_json = false;
};

/// The shortest point of each setting of the other axes.
std::vector<HeatPoint> shortest_points(const Sweep& sweep) {
  std::vector<HeatPoint> points;
  std::set<std::string> seen;
  for (const Heat& heat : sweep.heats) {
    HeatPoint setting = heat.point;
    setting.sequence_tokens = 0;
    if (points.size() < most_settings && seen.insert(point_key(setting)).second)
      points.push_back(heat.point);
  }
  return points;
}

/// Numbers that a token takes beside what the attention needs: q, k, v and o, and as many
/// gradients. Of a model, in the layer's larger half: those and the token's state, or the state
/// before and after the feed-forward layers and what is between them.
double numbers_of_a_token(const HeatPoint& point) {
  const auto hidden = static_cast<double>(point.heads) * static_cast<double>(point.head_dim);
  if (point.operation == Operation::model)
    return std::max(5 * hidden, 2 * hidden + static_cast<double>(point.feed_forward));
  return (point.direction == Direction::forward ? 4 : 8) * hidden;
}

double tensor_bytes(const HeatPoint& point) {
  return static_cast<double>(size_of(point.dtype)) * static_cast<double>(point.sequence_tokens) *
         numbers_of_a_token(point);
}

const HeatPoint& largest_point(const Sweep& sweep) {
  return std::ranges::max_element(sweep.heats, {},
                                  [](const Heat& heat) { return tensor_bytes(heat.point); })
      ->point;
}

/// A pattern by the name that contenders give it: its own, or that of a model's row.
struct NamedPattern {
  std::string name;
  AttentionPattern pattern;
};

bool of_models(const Sweep& sweep) {
  return sweep.heats.front().point.operation == Operation::model;
}

/// Those that ship, and the sweep's own.
std::vector<NamedPattern> patterns_of(const Sweep& sweep) {
  std::vector<NamedPattern> patterns;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    patterns.push_back({pattern.name, pattern});
    if (of_models(sweep) && pattern.name == "sparse")
      patterns.push_back({"sparse-without-kernel", pattern});
  }
  for (const Contender& contender : sweep.heats.front().contenders) {
    std::string name = contender.pattern;
    if (const auto row = parse_model_row(contender.model); row && of_models(sweep))
      name = row->name;
    if (std::ranges::find(patterns, name, &NamedPattern::name) != patterns.end()) continue;
    auto own = parse_pattern(contender.pattern_json, contender.pattern);
    if (!own) continue;  // what cannot be read is the run's to say
    patterns.push_back({name, std::move(*own)});
  }
  return patterns;
}

/// The first window of the sweep, or the widest.
std::string window_of(const Sweep& sweep, bool widest) {
  std::optional<Window> found;
  for (const Contender& contender : sweep.heats.front().contenders) {
    if (!contender.window) continue;
    const bool wider =
        found && !found->is_infinite() &&
        (contender.window->is_infinite() || contender.window->tokens() > found->tokens());
    if (!found || (widest && wider)) found = contender.window;
  }
  return found ? found->text() : "4";
}

Result<json> costs_of(WorkerProcess& worker, const AttentionPattern& pattern,
                      const HeatPoint& point, const std::string& window) {
  const auto sizes = group_sizes(point);
  if (!sizes) return tl::unexpected(sizes.error());
  LayoutItem item;
  item.cls = sizes->cls;
  item.query = point.shared_query ? 0 : sizes->query;
  item.documents = sizes->documents;
  const auto layout = SequenceLayout::make({item}, point.shared_query ? sizes->query : 0);
  if (!layout) return tl::unexpected(layout.error());
  return ask_costs(worker,
                   {{"pattern_json", pattern_json(pattern)},
                    {"window", pattern.has_window() ? window : ""},
                    {"layout_json", layout_json(*layout)},
                    {"layout_source", "one item"},
                    {"heads", point.heads},
                    {"head_dim", point.head_dim},
                    {"dtype", name_of(point.dtype)},
                    {"direction", name_of(point.direction)},
                    {"operation", name_of(point.operation == Operation::model ? Operation::attention
                                                                              : point.operation)},
                    {"device", name_of(point.device)},
                    {"threads", point.threads > 0 ? point.threads : worker_cores(worker.hello())}});
}

/// Every implementation with this pattern; possible where one setting of the sweep takes it.
json pairs_with(WorkerProcess& worker, const Sweep& sweep, const NamedPattern& named) {
  const AttentionPattern& pattern = named.pattern;
  json pairs = json::array();
  for (const json& listed : worker.hello().value("implementations", json::array())) {
    pairs.push_back({{"pattern", named.name},
                     {"implementation", listed.value("id", "")},
                     {"reason", "not asked"}});
  }
  const auto take = [&](const Result<json>& rows, auto&& each) {
    for (json& pair : pairs) {
      if (!rows) {
        each(pair, json{{"reason", rows.error().message}});
        continue;
      }
      for (const json& row : *rows) {
        if (row.value("id", "") == pair.at("implementation")) each(pair, row);
      }
    }
  };
  for (const HeatPoint& point : shortest_points(sweep)) {
    take(costs_of(worker, pattern, point, window_of(sweep, false)),
         [](json& pair, const json& row) {
           if (!pair.at("reason").get<std::string>().empty())
             pair["reason"] = row.value("reason", "");
         });
  }
  const HeatPoint& largest = largest_point(sweep);
  take(costs_of(worker, pattern, largest, window_of(sweep, true)),
       [&](json& pair, const json& row) {
         if (row.value("reason", "").empty())
           pair["item_bytes"] = tensor_bytes(largest) + row.value("peak_bytes", 0.0);
       });
  return pairs;
}

json foreseen(WorkerProcess& worker, const Sweep& sweep) {
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
  for (const NamedPattern& pattern : patterns_of(sweep)) {
    for (json& pair : pairs_with(worker, sweep, pattern)) {
      answer["pairs"].push_back(pair);
      if (!of_models(sweep)) continue;
      // The shortcut computes less of the same.
      pair["pattern"] = pattern.name + std::string(cls_only_option);
      answer["pairs"].push_back(std::move(pair));
    }
  }
  return answer;
}

/// The contenders alone, each pair once.
std::string as_text(const Sweep& sweep, const json& answer) {
  std::string text = fmt::format(
      "{} heats, {} cells; at most {:.0f} s of measuring, besides set-up "
      "and checks\n\n",
      answer.at("heats").get<std::size_t>(), answer.at("cells").get<std::size_t>(),
      answer.at("longest_seconds").get<double>());
  std::size_t width = 32;
  for (const Contender& contender : sweep.heats.front().contenders)
    width = std::max(width, contender.id_without_window().size());
  std::set<std::string> said;
  for (const Contender& contender : sweep.heats.front().contenders) {
    const std::string id = contender.id_without_window();
    if (!said.insert(id).second) continue;
    std::string words = "the worker has no such implementation";
    for (const json& pair : answer.at("pairs")) {
      if (pair.at("pattern") != (contender.model.empty() ? contender.pattern : contender.model) ||
          pair.at("implementation") != contender.implementation)
        continue;
      words = pair.at("reason").get<std::string>();
      if (!words.empty()) continue;
      words =
          pair.contains("item_bytes")
              ? fmt::format("{} for an item of {} tokens",
                            report::format_bytes(pair.at("item_bytes").get<double>()),
                            answer.at("largest_tokens").get<std::int64_t>())
              : fmt::format("not at {} tokens", answer.at("largest_tokens").get<std::int64_t>());
    }
    text += fmt::format("{:<{}} {}\n", id, width, words);
  }
  return text;
}

void foresee(Session& session, const ForeseeCommandArguments& arguments) {
  const auto sweep = load_sweep(arguments.sweep);
  if (!sweep) return session.fail(exit_wrong_use, sweep.error().message);
  auto worker = WorkerProcess::start(arguments.worker);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  const json answer = foreseen(*worker, *sweep);
  print_result(session, arguments.as_json ? answer.dump(2) + "\n" : as_text(*sweep, answer));
}

}  // namespace

void add_foresee_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ForeseeCommandArguments>();
  CLI::App* command = app.add_subcommand(
      "foresee", "What a sweep would take, and what of it cannot be measured, without running it");
  command->add_option("sweep", arguments->sweep, "Sweep file, or the name of one that ships")
      ->type_name("SWEEP")
      ->required();
  command->add_option("--worker", arguments->worker, "Command that starts the measuring process")
      ->type_name("CMD");
  command->add_flag("--json", arguments->as_json,
                    "As JSON, with every pattern and every implementation");
  command->callback([&session, arguments] { foresee(session, *arguments); });
}

}  // namespace attnscope::cli
