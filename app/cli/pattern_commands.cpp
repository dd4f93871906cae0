// SPDX-License-Identifier: GPL-3.0-or-later
//
// Commands about patterns and implementations: attend, check, costs and mask.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/report/number_text.h"
#include "kernels/plan/counts.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/mask_drawing.h"
#endif

namespace attnscope::cli {

namespace {

using nlohmann::json;

/// A pattern, its window and one query with its document: the options of `mask` and `costs`.
struct PatternArguments {
  std::string pattern, window;
  std::int64_t query = 10, document = 500;
};

void add_window_option(CLI::App& command, std::string& window) {
  add_option(
      command, "--window", window, "W",
      "Attention window: tokens attended to on each side, or inf; required for patterns with "
      "a window");
}

void add_pattern_arguments(CLI::App& command, PatternArguments& arguments) {
  add_option(command, "pattern", arguments.pattern, "PATTERN",
             "Attention pattern: built-in name or JSON file")
      ->required();
  add_window_option(command, arguments.window);
  add_option(command, "--query", arguments.query, "N",
             "Number of tokens of the query with its [SEP]; query_tokens of a sweep is without it")
      ->capture_default_str();
  add_option(
      command, "--document", arguments.document, "N",
      "Number of tokens of the document with its [SEP]; document_tokens of a sweep is without it")
      ->capture_default_str();
}

struct PatternWithWindow {
  AttentionPattern pattern;
  std::optional<Window> window;
};

/// Errors: an unknown pattern, an invalid window, no window for a pattern that needs one.
Result<PatternWithWindow> read_pattern(const std::string& name, const std::string& window_text) {
  auto pattern = find_pattern(name);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto window = parse_optional_window(window_text);
  if (!window) return tl::unexpected(window.error());
  if (pattern->has_window() && !*window)
    return fail("pattern '{}' has a window; give --window W (tokens, or inf).", pattern->name);
  return PatternWithWindow{std::move(*pattern), *window};
}

/// Error: a negative length.
Result<LayoutItem> read_item(const PatternArguments& arguments) {
  if (arguments.query < 0 || arguments.document < 0) {
    return fail("--query {} and --document {} are numbers of tokens and cannot be negative.",
                arguments.query, arguments.document);
  }
  LayoutItem item;
  item.query = arguments.query;
  item.documents = {arguments.document};
  return item;
}

struct LayoutFile {
  std::string text;
  SequenceLayout layout;
};

Result<LayoutFile> read_layout(const std::string& file) {
  constexpr std::uintmax_t max_bytes = 256 << 20;
  auto text = read_text_file(file, "layout file", max_bytes);
  if (!text) return tl::unexpected(text.error());
  auto layout = parse_layout(*text, file);
  if (!layout) return tl::unexpected(layout.error());
  return LayoutFile{std::move(*text), std::move(*layout)};
}

struct AttendCommand {
  std::string in, out, pattern, window, layout, implementation, dtype = "float32", device = "cpu";
  WorkerChoice worker;
  bool backward = false;
};

/// Performs the checks that need no worker, and builds the request.
Result<protocol::AttendRequest> attend_request(const AttendCommand& arguments) {
  const auto pattern = read_pattern(arguments.pattern, arguments.window);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto dtype = parse_dtype(arguments.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto device = parse_device(arguments.device);
  if (!device) return tl::unexpected(device.error());
  const auto layout = read_layout(arguments.layout);
  if (!layout) return tl::unexpected(layout.error());
  if (Status allowed = may_be_written(arguments.out); !allowed)
    return tl::unexpected(allowed.error());
  return protocol::AttendRequest{.in = std::filesystem::absolute(arguments.in).string(),
                                 .out = std::filesystem::absolute(arguments.out).string(),
                                 .pattern = pattern->pattern,
                                 .window = {pattern->window},
                                 .layout_json = layout->text,
                                 .layout_source = arguments.layout,
                                 .implementation = arguments.implementation,
                                 .dtype = *dtype,
                                 .device = *device,
                                 .backward = arguments.backward};
}

void attend(Session& session, const AttendCommand& arguments) {
  auto request = attend_request(arguments);
  if (!request) return session.fail(request.error());
  auto worker = start(arguments.worker);
  if (!worker) return session.fail(worker.error());
  if (!is_this_machine(worker->hello())) {
    return session.fail(exit_wrong_use,
                        "attend passes its tensors as local files, but the worker is on another "
                        "machine; run attend there.");
  }
  request->threads = worker_cores(worker->hello());
  const auto answer = ask(*worker, *request);
  if (!answer) return session.fail(answer.error());
  print_status("{}: {} tokens, {} heads of {}; relative error {:.2g} (bound {:.2g}){}",
               arguments.out, answer->tokens, answer->heads, answer->head_dim,
               answer->relative_error, answer->error_bound,
               answer->lse_written ? "" : "; this implementation does not output lse");
}

/// The outcomes of one implementation.
struct Tally {
  std::string implementation;
  int ok = 0, declined = 0, wrong = 0;
  double worst_share = 0;  // largest error as a fraction of its bound
};

/// Outcomes by implementation, in order of appearance.
class Tallies {
 public:
  void add(const protocol::CheckRow& row) {
    Tally& tally = of(row.implementation);
    if (row.outcome == "ok") {
      ++tally.ok;
      if (row.error_bound > 0) {
        tally.worst_share =
            std::max(tally.worst_share, row.relative_error.value_or(0) / row.error_bound);
      }
    } else if (row.outcome == "declined") {
      ++tally.declined;
    } else {
      ++tally.wrong;
    }
  }

  [[nodiscard]] std::string text() const {
    std::string lines = fmt::format("{:<20}{:>8}{:>10}{:>8}  {}\n", "implementation", "ok",
                                    "declined", "wrong", "largest error / bound");
    for (const Tally& t : tallies_) {
      lines += fmt::format("{:<20}{:>8}{:>10}{:>8}  {:.2f}\n", t.implementation, t.ok, t.declined,
                           t.wrong, t.worst_share);
    }
    return lines;
  }

 private:
  Tally& of(const std::string& implementation) {
    for (Tally& tally : tallies_) {
      if (tally.implementation == implementation) return tally;
    }
    return tallies_.emplace_back(Tally{.implementation = implementation});
  }

  std::vector<Tally> tallies_;
};

std::string describe_wrong(const protocol::CheckRow& row) {
  return fmt::format("{} on {} w={} {} {}: {}", row.implementation, row.pattern, row.window,
                     row.shape, row.dtype, row.reason);
}

void check(Session& session, const std::string& device_text, const WorkerChoice& choice) {
  const auto device = parse_device(device_text);
  if (!device) return session.fail(device.error());
  auto worker = start(choice);
  if (!worker) return session.fail(worker.error());
  Tallies tallies;
  const auto add = [&](const json& event) {
    const auto row = protocol::read_message<protocol::CheckRow>(event);
    if (!row) return;
    tallies.add(*row);
    if (row->outcome == "wrong") status_line(describe_wrong(*row));
  };
  const auto done =
      ask(*worker,
          protocol::CheckRequest{.device = *device, .threads = worker_cores(worker->hello())}, add);
  if (!done) return session.fail(done.error());
  print_result(session, tallies.text());
  if (done->wrong > 0) session.exit_code = exit_cells_failed;
}

struct CostsCommand {
  PatternArguments pattern;
  std::string layout, dtype = "float32", direction = "forward", device = "cpu";
  WorkerChoice worker;
  std::int64_t heads = 12, head_dim = 32;
  bool as_json = false;
};

/// The command's arguments, after the checks that need no worker.
struct CostsQuestion {
  AttentionPattern pattern;
  std::optional<Window> window;
  SequenceLayout layout;
  DType dtype = DType::float32;
  Direction direction = Direction::forward;
  DeviceKind device = DeviceKind::cpu;
};

Result<SequenceLayout> layout_of(const CostsCommand& arguments) {
  if (!arguments.layout.empty()) {
    return read_layout(arguments.layout).map([](LayoutFile&& file) {
      return std::move(file.layout);
    });
  }
  const auto item = read_item(arguments.pattern);
  if (!item) return tl::unexpected(item.error());
  return SequenceLayout::make({*item});
}

Result<CostsQuestion> read(const CostsCommand& arguments) {
  auto pattern = read_pattern(arguments.pattern.pattern, arguments.pattern.window);
  if (!pattern) return tl::unexpected(pattern.error());
  auto layout = layout_of(arguments);
  if (!layout) return tl::unexpected(layout.error());
  const auto dtype = parse_dtype(arguments.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto direction = parse_direction(arguments.direction);
  if (!direction) return tl::unexpected(direction.error());
  const auto device = parse_device(arguments.device);
  if (!device) return tl::unexpected(device.error());
  return CostsQuestion{std::move(pattern->pattern),
                       pattern->window,
                       std::move(*layout),
                       *dtype,
                       *direction,
                       *device};
}

/// The work of the plan: a lower bound for every implementation.
Result<json> useful_work(const CostsQuestion& question, const CostsCommand& arguments) {
  const Passes passes =
      question.direction == Direction::forward ? Passes::forward : Passes::forward_backward;
  const auto plan =
      compile_plan(question.pattern, question.window, question.layout,
                   static_cast<std::int32_t>(std::clamp<std::int64_t>(
                       arguments.heads, 0, std::numeric_limits<std::int32_t>::max())));
  if (!plan) return tl::unexpected(plan.error());
  const PlanCounts counts = count(*plan);
  return json{{"tokens", question.layout.tokens()},
              {"pairs", counts.pairs},
              {"useful_flop", useful_flop(counts, arguments.head_dim, passes)},
              {"least_bytes", least_bytes(*plan, arguments.head_dim, question.dtype, passes)},
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
  const auto question = read(arguments);
  if (!question) return session.fail(question.error());
  auto answer = useful_work(*question, arguments);
  if (!answer) return session.fail(answer.error());
  auto worker = start(arguments.worker);
  if (!worker) return session.fail(worker.error());
  const auto costs =
      ask(*worker, protocol::CostsRequest{.pattern = question->pattern,
                                          .window = {question->window},
                                          .layout_json = layout_json(question->layout),
                                          .layout_source = arguments.layout,
                                          .heads = arguments.heads,
                                          .head_dim = arguments.head_dim,
                                          .dtype = question->dtype,
                                          .direction = question->direction,
                                          .device = question->device,
                                          .threads = worker_cores(worker->hello())});
  if (!costs) return session.fail(costs.error());
  answer->update(as_json(*costs));
  print_result(session, arguments.as_json ? answer->dump(2) + "\n" : as_text(*answer));
}

struct MaskCommand {
  PatternArguments pattern;
  std::string style = "schematic";
  FigureArguments figure;
  bool no_legend = false;
};

#ifdef ATTNSCOPE_HAS_GUI

Result<charts::MaskSubject> subject_of(const Session& session, const MaskCommand& arguments) {
  auto pattern = read_pattern(arguments.pattern.pattern, arguments.pattern.window);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto item = read_item(arguments.pattern);
  if (!item) return tl::unexpected(item.error());
  const auto style = charts::parse_mask_style(arguments.style);
  if (!style) return tl::unexpected(style.error());
  return charts::MaskSubject{.source = {std::move(pattern->pattern), pattern->window},
                             .item = *item,
                             .style = *style,
                             .legend = !arguments.no_legend,
                             .command = session.command_line};
}

void mask(Session& session, const MaskCommand& arguments) {
  auto subject = subject_of(session, arguments);
  if (!subject) return session.fail(subject.error());
  write_figure(session, charts::printable(std::move(*subject)), arguments.figure,
               charts::mask_width_mm);
}

#else

void mask(Session& session, const MaskCommand&) {
  session.fail(
      exit_wrong_use,
      "this build has no Qt and cannot draw; draw masks with a build that has the window.");
}

#endif

}  // namespace

void add_attend_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<AttendCommand>();
  CLI::App* command = app.add_subcommand("attend", "Compute attention on your own tensors");
  add_option(*command, "in", arguments->in, "FILE.safetensors",
             "Tensors q, k, v of shape [tokens, heads, head_dim] in float32")
      ->required();
  add_option(*command, "--pattern", arguments->pattern, "PATTERN",
             "Attention pattern: built-in name or JSON file")
      ->required();
  add_window_option(*command, arguments->window);
  add_option(*command, "--layout", arguments->layout, "FILE.json",
             "Layout file: the token groups of every item")
      ->required();
  add_option(*command, "--implementation", arguments->implementation, "ID",
             "Attention implementation; 'attnscope list implementations' lists them")
      ->required();
  add_option(*command, "--dtype", arguments->dtype, "DTYPE",
             "Data type to compute in: float32, float16 or bfloat16")
      ->capture_default_str();
  add_option(*command, "--device", arguments->device, "DEVICE", "cpu or cuda")
      ->capture_default_str();
  command->add_flag("--backward", arguments->backward,
                    "Also compute gradients: read grad_o, write grad_q, grad_k and grad_v");
  add_option(*command, "-o,--output", arguments->out, "FILE.safetensors",
             "File to write: o and lse (log-sum-exp), with --backward also the gradients")
      ->required();
  add_worker_options(*command, arguments->worker);
  command->callback([&session, arguments] { attend(session, *arguments); });
}

void add_check_command(CLI::App& app, Session& session) {
  auto device = std::make_shared<std::string>("cpu");
  auto worker = std::make_shared<WorkerChoice>();
  CLI::App* command = app.add_subcommand(
      "check", "Check every implementation against the float64 reference on this machine");
  add_option(*command, "--device", *device, "DEVICE", "cpu or cuda")->capture_default_str();
  add_worker_options(*command, *worker);
  command->callback([&session, device, worker] { check(session, *device, *worker); });
}

void add_costs_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CostsCommand>();
  CLI::App* command = app.add_subcommand(
      "costs",
      "Report the work that a pattern needs, and the work that each implementation executes");
  add_pattern_arguments(*command, arguments->pattern);
  add_option(*command, "--layout", arguments->layout, "FILE.json",
             "Layout file, instead of --query and --document");
  add_option(*command, "--heads", arguments->heads, "N", "Number of attention heads")
      ->capture_default_str();
  add_option(*command, "--head-dim", arguments->head_dim, "N", "Dimension of each head")
      ->capture_default_str();
  add_option(*command, "--dtype", arguments->dtype, "DTYPE",
             "Data type: float32, float16 or bfloat16")
      ->capture_default_str();
  add_option(*command, "--direction", arguments->direction, "NAME", "forward or forward-backward")
      ->capture_default_str();
  add_option(*command, "--device", arguments->device, "DEVICE", "cpu or cuda")
      ->capture_default_str();
  add_worker_options(*command, arguments->worker);
  command->add_flag("--json", arguments->as_json, "Print JSON");
  command->callback([&session, arguments] { costs(session, *arguments); });
}

void add_mask_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<MaskCommand>();
  CLI::App* command = app.add_subcommand("mask", "Draw a pattern's mask");
  add_pattern_arguments(*command, arguments->pattern);
  add_option(*command, "--style", arguments->style, "NAME",
             "schematic (few tokens) or true (the given numbers of tokens)")
      ->capture_default_str();
  command->add_flag("--no-legend,!--legend", arguments->no_legend,
                    "Do not draw the legend of token groups");
  add_figure_arguments(*command, arguments->figure, "84");
  command->callback([&session, arguments] { mask(session, *arguments); });
}

}  // namespace attnscope::cli
