// SPDX-License-Identifier: GPL-3.0-or-later
//
// costs: the costs of a pattern, as the implementations predict them without running.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/pattern_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/sentences.h"
#include "base/text_file.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/report/number_text.h"
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

/// The command's arguments, after the checks that need no worker.
struct ReceivedRequest {
  AttentionPattern pattern;
  std::optional<Window> window;
  SequenceLayout layout;
  DType dtype = DType::float32;
  Direction direction = Direction::forward;
  DeviceKind device = DeviceKind::cpu;
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

Result<ReceivedRequest> read(const CostsCommand& arguments) {
  ReceivedRequest requested;
  auto pattern = read_pattern(arguments.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  requested.pattern = std::move(pattern->pattern);
  requested.window = pattern->window;
  auto layout = layout_of(arguments);
  if (!layout) return tl::unexpected(layout.error());
  requested.layout = std::move(*layout);
  auto dtype = parse_dtype(arguments.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  requested.dtype = *dtype;
  auto direction = parse_direction(arguments.direction);
  if (!direction) return tl::unexpected(direction.error());
  requested.direction = *direction;
  const auto device = parse_device(arguments.device);
  if (!device) return tl::unexpected(device.error());
  requested.device = *device;
  return requested;
}

/// The plan's own counts: a lower bound for every implementation.
Result<json> useful_work(const ReceivedRequest& requested, const CostsCommand& arguments) {
  const Passes passes =
      requested.direction == Direction::forward ? Passes::forward : Passes::forward_backward;
  const auto plan =
      compile_plan(requested.pattern, requested.window, requested.layout,
                   static_cast<std::int32_t>(std::clamp<std::int64_t>(
                       arguments.heads, 0, std::numeric_limits<std::int32_t>::max())));
  if (!plan) return tl::unexpected(plan.error());
  const PlanCounts counts = count(*plan);
  return json{{"tokens", requested.layout.tokens()},
              {"pairs", counts.pairs},
              {"useful_flop", useful_flop(counts, arguments.head_dim, passes)},
              {"least_bytes", least_bytes(*plan, arguments.head_dim, requested.dtype, passes)},
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
        "{:<20} {:>14} {:>10} {:>12}\n", id, counted ? fmt::format("{:.4g}", executed) : "unknown",
        counted && useful > 0 ? fmt::format("{:.2f}", executed / useful) : "-",
        row.contains("peak_bytes") ? report::format_bytes(row.at("peak_bytes").get<double>())
                                   : "unknown");
  }
  return text;
}

void costs(Session& session, const CostsCommand& arguments) {
  const auto requested = read(arguments);
  if (!requested) return session.fail(exit_wrong_use, requested.error().message);
  auto answer = useful_work(*requested, arguments);
  if (!answer) return session.fail(exit_wrong_use, answer.error().message);
  auto worker = start(arguments.worker);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  const auto costs =
      ask(*worker, protocol::CostsRequest{.pattern = requested->pattern,
                                          .window = {requested->window},
                                          .layout_json = layout_json(requested->layout),
                                          .layout_source = arguments.layout,
                                          .heads = arguments.heads,
                                          .head_dim = arguments.head_dim,
                                          .dtype = requested->dtype,
                                          .direction = requested->direction,
                                          .device = requested->device,
                                          .threads = worker_cores(worker->hello())});
  if (!costs) return session.fail(exit_wrong_use, costs.error().message);
  answer->update(as_json(*costs));
  print_result(session, arguments.as_json ? answer->dump(2) + "\n" : as_text(*answer));
}

}  // namespace

void add_costs_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CostsCommand>();
  CLI::App* command = app.add_subcommand(
      "costs", "Report the work a pattern needs, and the work each implementation executes");
  add_pattern_arguments(*command, arguments->pattern);
  command
      ->add_option("--layout", arguments->layout,
                   "Layout file (JSON) instead of --query and --document")
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
  command->add_flag("--json", arguments->as_json, "Print JSON");
  command->callback([&session, arguments] { costs(session, *arguments); });
}

}  // namespace attnscope::cli
