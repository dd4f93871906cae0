#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Commands that send one request to a worker and print its answer.

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/worker/worker_process.h"

namespace attnscope::cli {

/// The worker of a command: how to start it, and the programs of --with.
struct WorkerChoice {
  std::string command;
  std::vector<std::string> with;
};
/// Adds --worker and --with.
void add_worker_options(CLI::App& command, WorkerChoice& choice);
[[nodiscard]] Result<WorkerProcess> start(const WorkerChoice& choice,
                                          const std::atomic<int>* cancel = nullptr);

/// Sends `request` and passes every event to `on_event` until it returns true (the answer is
/// complete). An error event, or a worker that exits earlier, is an error.
[[nodiscard]] Status ask(WorkerProcess& worker, const nlohmann::json& request,
                         const std::function<bool(const nlohmann::json&)>& on_event);

/// Waits for the event of that kind that answers the request; nothing if `interrupted` rises above
/// 0. Errors as in `ask`.
[[nodiscard]] Result<std::optional<nlohmann::json>> wait_for(WorkerProcess& worker,
                                                             std::string_view kind,
                                                             const std::atomic<int>& interrupted);

/// Sends the request `costs` (docs/protocol.md) with these fields: a row for each implementation.
[[nodiscard]] Result<nlohmann::json> ask_costs(WorkerProcess& worker, nlohmann::json fields);

}  // namespace attnscope::cli
