// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/worker_requests.h"

#include <utility>

namespace attnscope::cli {

void add_worker_options(CLI::App& command, WorkerChoice& choice) {
  command
      .add_option("--worker", choice.command,
                  "Command that starts the measuring process; 'ssh HOST attnscope-worker' measures "
                  "on another machine")
      ->type_name("CMD");
  command
      .add_option(
          "--with", choice.with,
          "Python file or command with implementations or re-rankers of your own; may be repeated")
      ->type_name("PROGRAM")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<WorkerProcess> start(const WorkerChoice& choice, const std::atomic<int>* cancel) {
  auto worker = WorkerProcess::start(choice.command, {.with = choice.with, .cancel = cancel});
  if (!worker) return tl::unexpected(worker.error());
  return std::move(*worker);
}

}  // namespace attnscope::cli
