#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The measuring process (worker) of a command: the options that choose it, requests whose answer a
// command prints, and the machine-wide lock for commands that time computations.

#include <CLI/CLI.hpp>
#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/worker/ask.h"
#include "engine/worker/turn_holder.h"
#include "engine/worker/worker_process.h"

namespace attnscope::cli {

/// How to start a worker, and the programs of --with.
struct WorkerChoice {
  std::string command;
  std::vector<std::string> with;
};
/// Adds --worker and --with.
void add_worker_options(CLI::App& command, WorkerChoice& choice);
[[nodiscard]] Result<WorkerProcess> start(const WorkerChoice& choice,
                                          const std::atomic<int>* cancel = nullptr);

/// Adds --now.
void add_now_option(CLI::App& command, bool& now);
/// Appended to the message that names the measurement a command waits for.
inline constexpr std::string_view other_ways_than_waiting =
    "Ctrl-C cancels, --now measures at the same time";
/// Waits until no other measurement runs on the worker's machine, and reports on stderr which
/// measurement it waits for. `what` describes this measurement to other waiting processes, "latency
/// of MODEL". Errors: interrupted.
[[nodiscard]] Result<TurnHolder> wait_for_turn(const WorkerChoice& worker,
                                               std::set<DeviceKind> devices, std::string what,
                                               bool now);
/// "another measurement ran at the same time: ..."; empty if none did.
[[nodiscard]] std::string note_on_others(TurnHolder& turn);

}  // namespace attnscope::cli
