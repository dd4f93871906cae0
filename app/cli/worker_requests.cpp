// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/worker_requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "app/cli/command_line.h"
#include "base/sentences.h"
#include "engine/worker/protocol.h"

namespace attnscope::cli {

void add_worker_options(CLI::App& command, WorkerChoice& choice) {
  add_option(command, "--worker", choice.command, "CMD",
             "Command that starts the measuring process; 'ssh HOST attnscope-worker' measures on "
             "another machine; default: attnscope-worker on this machine");
  add_option(command, "--with", choice.with, "PROGRAM",
             "Python file or command that provides your own implementations or re-rankers; may be "
             "repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<WorkerProcess> start(const WorkerChoice& choice, const std::atomic<int>* cancel) {
  auto worker = WorkerProcess::start(choice.command, {.with = choice.with, .cancel = cancel});
  if (!worker) return tl::unexpected(worker.error());
  return std::move(*worker);
}

void add_now_option(CLI::App& command, bool& now) {
  command.add_flag("--now", now,
                   "Measure without waiting for other measurements on this machine; the results of "
                   "both are marked as disturbed");
}

Result<TurnHolder> wait_for_turn(const WorkerChoice& worker, std::set<DeviceKind> devices,
                                 std::string what, bool now) {
  TurnHolder turn({.worker_command = worker.command,
                   .devices = std::move(devices),
                   .what = std::move(what),
                   .now = now});
  const bool held = turn.hold(
      {.on_waiting =
           [](const std::string& whom) {
             print_status("attnscope: waiting for {} to finish; {}", whom, other_ways_than_waiting);
           },
       .on_warning = [](const std::string& text) { print_status("attnscope: warning: {}", text); },
       .is_given_up = [] { return interrupts() > 0; }});
  if (!held) return fail("interrupted");
  return turn;
}

std::string note_on_others(TurnHolder& turn) {
  const std::string others = turn.others([] { return interrupts() > 0; });
  return others.empty() ? others : "another measurement ran at the same time: " + others;
}

std::string format_seconds(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::fmax(seconds, 0.0)));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

TerminalLine::TerminalLine(bool wanted) : visible_(wanted && isatty(STDERR_FILENO) == 1) {}

void TerminalLine::draw(const std::string& text) {
  print_to_terminal("\r\x1b[2K" + text);
  drawn_ = true;
}

void TerminalLine::clear() {
  if (drawn_) print_to_terminal("\r\x1b[2K");
  drawn_ = false;
}

void ProgressLine::show(const RunEvent& event) {
  if (!is_visible() || event.kind == RunEvent::Kind::warning) return;
  if (event.kind == RunEvent::Kind::waiting) return clear();  // printed in full on a separate line
  const std::string left =
      event.seconds_left ? fmt::format(", {} left", format_seconds(*event.seconds_left)) : "";
  draw(in_a_sentence(
      fmt::format("heat {} of {}{}: {}", event.heats_done, event.heats_planned, left, event.text),
      100));
}

void CountLine::show(const std::string& counted, double done, std::optional<double> share) {
  if (!is_visible()) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const double seconds = elapsed.count();
  std::string line = fmt::format("{}, {:.1f} a second", counted, done / seconds);
  if (share && *share > 0) {
    line += fmt::format(", {:.0f} %, {} left", 100 * *share,
                        format_seconds(seconds * (1 - *share) / *share));
  }
  draw(line);
}

namespace {

/// The name of an event; a public format.
std::string_view word(RunEvent::Kind kind) {
  switch (kind) {
    case RunEvent::Kind::started:
      return "started";
    case RunEvent::Kind::waiting:
      return "waiting";
    case RunEvent::Kind::ceilings:
      return "ceilings";
    case RunEvent::Kind::heat_started:
      return "heat-started";
    case RunEvent::Kind::contender:
      return "contender";
    case RunEvent::Kind::progress:
      return "progress";
    case RunEvent::Kind::heat_finished:
      return "heat-finished";
    case RunEvent::Kind::warning:
      return "warning";
    case RunEvent::Kind::cancelling:
      return "cancelling";
    case RunEvent::Kind::paused:
      return "paused";
    case RunEvent::Kind::continued:
      return "continued";
    case RunEvent::Kind::finished:
      return "finished";
  }
  return "";
}

}  // namespace

bool print_event(const RunEvent& event) {
  nlohmann::json json = {{"event", word(event.kind)},
                         {"run", event.run.uuid},
                         {"heats_done", event.heats_done},
                         {"heats_planned", event.heats_planned},
                         {"text", event.text}};
  if (event.seconds_left) json["seconds_left"] = *event.seconds_left;
  if (event.heat != nullptr) json["point"] = protocol::to_json(event.heat->point);
  if (event.result != nullptr) json["result"] = protocol::to_json(*event.result);
  const std::string line =
      visible(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
  return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace attnscope::cli
