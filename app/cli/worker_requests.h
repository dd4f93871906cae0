#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Commands that send one request to a worker and print its answer.

#include <CLI/CLI.hpp>
#include <atomic>
#include <string>
#include <vector>

#include "engine/worker/ask.h"
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

}  // namespace attnscope::cli
