// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a pattern costs (costs), and what a sweep would take and which pairs of pattern and
// implementation could be measured in it (foresee), asked of the implementations without running
// anything.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/pattern_arguments.h"
#include "app/cli/worker_requests.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/report/number_text.h"
#include "engine/sweep/driver.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"
#include "kernels/plan/counts.h"

namespace attnscope::cli {

namespace {

using nlohmann::json;

struct CostsCommand {
  PatternArguments pattern;
  std::string layout, dtype = "float32", direction = "forward", device = "cpu";
  WorkerChoice worker;
  std::int64_t heads = 12, head_dim = 32;
  bool as_json = false;
};

constexpr std::uintmax_t largest_layout = 256 << 20;

/// What is asked for, checked as far as that needs no worker.
struct Asked {
  AttentionPattern pattern;
  std::optional<Window> window;
  SequenceLayout layout;
  DType dtype = DType::float32;
  Direction direction = Direction::forward;
};

Result<SequenceLayout> layout_of(const CostsCommand& arguments) {
  if (arguments.layout.empty()) {
    const auto item = read_item(arguments.pattern);
    if (!item) return tl::unexpected(item.error());
    return SequenceLayout::make({*item});
  }
  auto text = read_text_file(arguments.layout, "layout file", largest_layout);
  if (!text) return tl::unexpected(text.error());
  return parse_layout(*text, arguments.layout);
}

Result<Asked> read(const CostsCommand& arguments) {
  Asked asked;
  auto pattern = read_pattern(arguments.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  asked.pattern = std::move(pattern->pattern);
  asked.window = pattern->window;
  auto layout = layout_of(arguments);
  if (!layout) return tl::unexpected(layout.error());
  asked.layout = std::move(*layout);
  auto dtype = parse_dtype(arguments.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  asked.dtype = *dtype;
  auto direction = parse_direction(arguments.direction);
  if (!direction) return tl::unexpected(direction.error());
  asked.direction = *direction;
  if (auto device = parse_device(arguments.device); !device) return tl::unexpected(device.error());
  return asked;
}

/// The plan's own counts: what no implementation can do without.
Result<json> useful_work(const Asked& asked, const CostsCommand& arguments) {
  const Passes passes =
      asked.direction == Direction::forward ? Passes::forward : Passes::forward_backward;
  const auto plan =
      compile_plan(asked.pattern, asked.window, asked.layout,
                   static_cast<std::int32_t>(std::clamp<std::int64_t>(
                       arguments.heads, 0, std::numeric_limits<std::int32_t>::max())));
  if (!plan) return tl::unexpected(plan.error());
  const PlanCounts counts = count(*plan);
  return json{{"tokens", asked.layout.tokens()},
              {"pairs", counts.pairs},
              {"useful_flop", useful_flop(counts, arguments.head_dim, passes)},
              {"least_bytes", least_bytes(*plan, arguments.head_dim, asked.dtype, passes)},
              {"exponentials", useful_exponentials(counts, passes)}};
}

std::string as_text(const json& costs) {
  const double useful = costs.at("useful_flop").get<double>();
  std::string text = fmt::format(
      "{} tokens, {} pairs over all heads; useful: {:.4g} FLOP, {:.4g} exponentials, at least "
      "{}\n\n",
      costs.at("tokens").get<std::int64_t>(), costs.at("pairs").get<std::int64_t>(), useful,
      costs.at("exponentials").get<double>(),
      report::format_bytes(costs.at("least_bytes").get<double>()));
  text += fmt::format("{:<20} {:>14} {:>10} {:>12}\n", "implementation", "executed FLOP",
                      "x useful", "peak memory");
  for (const json& row : costs.at("implementations")) {
    const auto id = row.at("id").get<std::string>();
    if (const auto reason = row.at("reason").get<std::string>(); !reason.empty()) {
      text += fmt::format("{:<20} {}\n", id, reason);
      continue;
    }
    const double executed = row.value("executed_flop", 0.0);
    const bool counted = row.contains("executed_flop");
    text += fmt::format(
        "{:<20} {:>14} {:>10} {:>12}\n", id, counted ? fmt::format("{:.4g}", executed) : "not told",
        counted && useful > 0 ? fmt::format("{:.2f}", executed / useful) : "-",
        row.contains("peak_bytes") ? report::format_bytes(row.at("peak_bytes").get<double>())
                                   : "not told");
  }
  return text;
}

void costs(Session& session, const CostsCommand& arguments) {
  const auto asked = read(arguments);
  if (!asked) return session.fail(exit_wrong_use, asked.error().message);
  auto answer = useful_work(*asked, arguments);
  if (!answer) return session.fail(exit_wrong_use, answer.error().message);
  auto worker = start(arguments.worker);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  const json question = {{"pattern_json", pattern_json(asked->pattern)},
                         {"window", arguments.pattern.window},
                         {"layout_json", layout_json(asked->layout)},
                         {"layout_source", arguments.layout},
                         {"heads", arguments.heads},
                         {"head_dim", arguments.head_dim},
                         {"dtype", arguments.dtype},
                         {"direction", arguments.direction},
                         {"device", arguments.device},
                         {"threads", worker_cores(worker->hello())}};
  auto rows = ask_costs(*worker, question);
  if (!rows) return session.fail(exit_wrong_use, rows.error().message);
  (*answer)["implementations"] = std::move(*rows);
  print_result(session, arguments.as_json ? answer->dump(2) + "\n" : as_text(*answer));
}

constexpr std::size_t most_settings = 8;  // points that differ in more than their length

struct ForeseeCommand {
  std::string sweep;
  WorkerChoice worker;
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

const HeatPoint& largest_point(const Sweep& sweep) {
  return std::ranges::max_element(sweep.heats, {},
                                  [](const Heat& heat) { return item_bytes(heat.point); })
      ->point;
}

/// The name by which contenders are asked about: the pattern's, or the model's without options.
std::string asked_name(const Contender& contender) {
  return contender.model.empty() ? contender.pattern
                                 : contender.model.substr(0, contender.model.find('+'));
}

/// The heats that have it; all, where none has.
Sweep with_heats_of(const std::string& name, const Sweep& sweep) {
  Sweep own = sweep;
  std::erase_if(own.heats, [&](const Heat& heat) {
    return std::ranges::none_of(
        heat.contenders, [&](const Contender& contender) { return asked_name(contender) == name; });
  });
  return own.heats.empty() ? sweep : own;
}

/// A pattern by the name that contenders give it: its own, or that of a model's row.
struct NamedPattern {
  std::string name;
  AttentionPattern pattern;
};

/// What a pass computes at least where documents' lengths are drawn: the first one is in every
/// batch.
HeatPoint with_first_document(HeatPoint point) {
  const LengthDistribution lengths = std::exchange(point.document_lengths, {});
  if (lengths.is_drawn())
    point.sequence_tokens = tokens_with_words(point, lengths.words_of(0, point.seed));
  return point;
}

bool of_models(const Sweep& sweep) {
  return sweep.heats.front().point.operation == Operation::model;
}

/// Those that ship, and the rows of models that such a sweep may have.
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

/// Those of its contenders, after `patterns`.
std::vector<NamedPattern> with_own_patterns(const Sweep& sweep,
                                            std::vector<NamedPattern> patterns) {
  for (const Contender& contender : contenders_of(sweep)) {
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
  for (const Contender& contender : contenders_of(sweep)) {
    if (!contender.window) continue;
    const bool wider =
        found && !found->is_infinite() &&
        (contender.window->is_infinite() || contender.window->tokens() > found->tokens());
    if (!found || (widest && wider)) found = contender.window;
  }
  return found ? found->text() : "4";
}

Result<json> costs_of(WorkerProcess& worker, const NamedPattern& named, const HeatPoint& point,
                      const std::string& window) {
  const AttentionPattern& pattern = named.pattern;
  const auto sizes = group_sizes(point);
  if (!sizes) return tl::unexpected(sizes.error());
  LayoutItem item;
  item.cls = sizes->cls;
  item.query = point.shared_query ? 0 : sizes->query;
  item.documents = sizes->documents;
  const auto layout = SequenceLayout::make({item}, point.shared_query ? sizes->query : 0);
  if (!layout) return tl::unexpected(layout.error());
  json question = {{"pattern_json", pattern_json(pattern)},
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
                   {"threads", point.threads > 0 ? point.threads : worker_cores(worker.hello())}};
  if (point.operation == Operation::model) {
    question.update({{"model", named.name},
                     {"layers", point.layers},
                     {"feed_forward", point.feed_forward},
                     {"document_tokens", sizes->document - 1}});
  }
  return ask_costs(worker, std::move(question));
}

/// No processor's core and no GPU does more multiply-adds a second, counted as two each: what takes
/// so long at this rate takes at least so long.
constexpr double flop_per_core = 2e11, flop_per_gpu = 2e15;

double rate_above_all(const HeatPoint& point, int cores) {
  if (point.device != DeviceKind::cpu) return flop_per_gpu;
  return flop_per_core * (point.threads > 0 ? std::min(point.threads, cores) : cores);
}

/// What the machine has free for a sweep on its processors; nothing: it is not known.
std::optional<double> free_bytes(const json& hello, DeviceKind device) {
  const auto machine = hello.find("device");
  if (device != DeviceKind::cpu || machine == hello.end()) return std::nullopt;
  const auto bytes = machine->find("available_bytes");
  const bool is_known = bytes != machine->end() && bytes->is_number();
  return is_known ? std::optional(bytes->get<double>()) : std::nullopt;
}

/// Every implementation with this pattern; possible where one setting of the sweep takes it.
json pairs_with(WorkerProcess& worker, const Sweep& whole, const NamedPattern& named) {
  const AttentionPattern& pattern = named.pattern;
  const Sweep sweep = with_heats_of(named.name, whole);
  const HeatPoint& largest = largest_point(sweep);
  json pairs = json::array();
  for (const json& listed : worker.hello().value("implementations", json::array())) {
    pairs.push_back({{"pattern", named.name},
                     {"implementation", listed.value("id", "")},
                     {"tokens", largest.sequence_tokens},
                     {"reason", "does not implement this pattern"}});
  }
  const auto take = [&](const Result<json>& rows, auto&& each) {
    for (json& pair : pairs) {
      if (!rows) {
        each(pair, json{{"reason", rows.error().message}});
        continue;
      }
      for (const json& row : *rows) {
        if (pair.at("implementation") == row.value("id", "")) each(pair, row);
      }
    }
  };
  // Counting takes a worker a minute at a million tokens, and memory as much as measuring.
  constexpr std::int64_t most_counted = std::int64_t{1} << 18;
  const double rate = rate_above_all(largest, worker_cores(worker.hello()));
  for (const HeatPoint& point : shortest_points(sweep)) {
    if (point.sequence_tokens > most_counted) {
      for (json& pair : pairs) pair["reason"] = "";  // not known
      continue;
    }
    take(costs_of(worker, named, point, window_of(sweep, false)), [](json& pair, const json& row) {
      if (!pair.at("reason").get<std::string>().empty()) pair["reason"] = row.value("reason", "");
    });
  }
  const HeatPoint first = with_first_document(largest);
  if (largest.sequence_tokens > most_counted) {
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
  const auto executed_seconds = [&](json& pair, const json& row) {
    if (!row.value("reason", "").empty()) return;
    pair["least_seconds"] = row.value("executed_flop", 0.0) / rate;
  };
  const std::string widest = window_of(sweep, true);
  take(costs_of(worker, named, largest, widest), [&](json& pair, const json& row) {
    if (const auto reason = row.value("reason", ""); !reason.empty()) {
      pair["reason_at_most_tokens"] = reason;
      return;
    }
    pair["item_bytes"] = item_bytes(largest) + row.value("peak_bytes", 0.0);
    pair["is_least"] = !row.contains("peak_bytes");
    executed_seconds(pair, row);
  });
  if (!(first == largest)) take(costs_of(worker, named, first, widest), executed_seconds);
  return pairs;
}

json foreseen(WorkerProcess& worker, const Sweep& sweep, bool all_patterns) {
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
      // What options leave out is at most this.
      for (const FamilyChoice& option : family_of_row(pattern.name).row_options()) {
        pair["pattern"] = fmt::format("{}+{}", pattern.name, option.name);
        answer["pairs"].push_back(pair);
      }
    }
  }
  return answer;
}

/// The contenders alone, each pair once.
std::string as_text(const Sweep& sweep, const json& answer) {
  const auto longest = answer.at("longest_seconds").get<double>();
  const double free = answer.value("available_bytes", std::numeric_limits<double>::infinity());
  double least = 0;  // of one pass of each contender at the largest point
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
    // What has several options is not listed: they change nothing of what is foreseen.
    const auto names = [&](const std::string& name) {
      return std::ranges::any_of(answer.at("pairs"),
                                 [&](const json& pair) { return pair.at("pattern") == name; });
    };
    const std::string listed_as = names(row) ? row : asked_name(contender);
    for (const json& pair : answer.at("pairs")) {
      if (pair.at("pattern") != listed_as || pair.at("implementation") != contender.implementation)
        continue;
      words = pair.at("reason").get<std::string>();
      if (!words.empty()) continue;
      seconds = pair.value("least_seconds", 0.0);
      const auto tokens = pair.at("tokens").get<std::int64_t>();
      const double bytes = pair.value("item_bytes", 0.0);
      words = bytes > 0
                  ? fmt::format("{}{} for an item of {} tokens{}",
                                pair.value("is_least", false) ? "at least " : "",
                                report::format_bytes(bytes), tokens,
                                bytes > free ? ", more than is free" : "")
                  : fmt::format("not at {} tokens: {}", tokens,
                                pair.value("reason_at_most_tokens", "the reason is not told"));
    }
    least += seconds;
    text += fmt::format("{:<{}} {}\n", id, width, words);
  }
  const bool takes_longer = least > longest;
  const double seconds = takes_longer ? least : longest;
  return fmt::format(
             "{}, {}; {} {:.{}f} s of measuring, {}besides set-up and checks\n\n",
             counted(answer.at("heats").get<std::size_t>(), "heat"),
             counted(answer.at("cells").get<std::size_t>(), "cell"),
             takes_longer ? "more than" : "at most", seconds, seconds < 10 ? 1 : 0,
             takes_longer
                 ? "since even one pass takes that long, "
                 : "on a busy machine twice that, or a call of each where that takes longer, ") +
         text;
}

void foresee(Session& session, const ForeseeCommand& arguments) {
  const auto sweep = load_sweep(arguments.sweep);
  if (!sweep) return session.fail(exit_wrong_use, sweep.error().message);
  auto worker = start(arguments.worker);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  if (Status known = check_implementations(sweep->heats, worker->hello()); !known) {
    return session.fail(exit_wrong_use, known.error().message);
  }
  const json answer = foreseen(*worker, *sweep, arguments.as_json);
  print_result(session, arguments.as_json ? answer.dump(2) + "\n" : as_text(*sweep, answer));
}

}  // namespace

void add_costs_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CostsCommand>();
  CLI::App* command = app.add_subcommand(
      "costs", "What a pattern costs at least, and what each implementation would execute");
  add_pattern_arguments(*command, arguments->pattern);
  command->add_option("--layout", arguments->layout, "Layout JSON, in place of the two lengths")
      ->type_name("LAYOUT");
  command->add_option("--heads", arguments->heads, "Attention heads")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--head-dim", arguments->head_dim, "Dimension of one head")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--dtype", arguments->dtype, "float32, float16 or bfloat16")
      ->type_name("DTYPE")
      ->capture_default_str();
  command->add_option("--direction", arguments->direction, "forward or forward-backward")
      ->type_name("DIRECTION")
      ->capture_default_str();
  command->add_option("--device", arguments->device, "cpu or cuda")
      ->type_name("DEVICE")
      ->capture_default_str();
  add_worker_options(*command, arguments->worker);
  command->add_flag("--json", arguments->as_json, "As JSON");
  command->callback([&session, arguments] { costs(session, *arguments); });
}

void add_foresee_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ForeseeCommand>();
  CLI::App* command = app.add_subcommand(
      "foresee", "What a sweep would take, and what of it cannot be measured, without running it");
  command->add_option("sweep", arguments->sweep, "Sweep file, or the name of one that ships")
      ->type_name("SWEEP")
      ->required();
  add_worker_options(*command, arguments->worker);
  command->add_flag("--json", arguments->as_json,
                    "As JSON, with every pattern and every implementation");
  command->callback([&session, arguments] { foresee(session, *arguments); });
}

}  // namespace attnscope::cli
