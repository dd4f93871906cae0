// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/turn.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "app/cli/command_line.h"

namespace attnscope::cli {

void add_now_option(CLI::App& command, bool& now) {
  command.add_flag("--now", now,
                   "Do not wait for another measurement on this machine; the results of both are "
                   "marked as disturbed");
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
             say("attnscope: waiting for {} to finish; {}", whom, other_ways_than_waiting);
           },
       .on_warning = [](const std::string& text) { say("attnscope: warning: {}", text); },
       .is_given_up = [] { return interrupts() > 0; }});
  if (!held) return fail("interrupted");
  return turn;
}

Result<TurnHolder> wait_for_turn(const ModelArguments& arguments, std::string what, bool now) {
  const auto device = parse_device(arguments.question.device);
  if (!device) return tl::unexpected(device.error());
  return wait_for_turn(arguments.worker, {*device}, std::move(what), now);
}

std::string note_on_others(TurnHolder& turn) {
  const std::string others = turn.others([] { return interrupts() > 0; });
  return others.empty() ? others : "another measurement ran at the same time: " + others;
}

}  // namespace attnscope::cli
