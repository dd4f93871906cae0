// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/worker_requests.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "app/cli/command_line.h"

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

}  // namespace attnscope::cli
