// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/worker_requests.h"

#include <chrono>
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

Status ask(WorkerProcess& worker, const nlohmann::json& request,
           const std::function<bool(const nlohmann::json&)>& on_event) {
  if (Status sent = worker.send(request); !sent) return sent;
  while (true) {
    const WorkerProcess::Read read = worker.read(std::chrono::minutes(1));
    if (read.wait == WorkerProcess::Wait::timeout) continue;  // large tensors take time
    if (read.wait == WorkerProcess::Wait::ended) {
      return fail("the measuring process ended before it answered: {}.", read.ended.words);
    }
    if (read.event.value("event", "") == "error") {
      return fail("{}", read.event.value("message",
                                         "the measuring process reported an error without words."));
    }
    if (on_event(read.event)) return {};
  }
}

Result<std::optional<nlohmann::json>> wait_for(WorkerProcess& worker, std::string_view kind,
                                               const std::atomic<int>& interrupted) {
  constexpr std::chrono::milliseconds look_around(200);
  while (true) {
    WorkerProcess::Read read = worker.read(look_around);
    if (interrupted > 0) return std::optional<nlohmann::json>();
    if (read.wait == WorkerProcess::Wait::timeout) continue;
    if (read.wait == WorkerProcess::Wait::ended) {
      return fail("the process that computes ended before it answered: {}", read.ended.words);
    }
    const std::string event = read.event.value("event", "");
    if (event == "error") return fail("{}", read.event.value("message", "an error without words"));
    if (event == kind) return std::optional(std::move(read.event));
  }
}

Result<nlohmann::json> ask_costs(WorkerProcess& worker, nlohmann::json fields) {
  fields["request"] = "costs";
  nlohmann::json rows;
  const Status done = ask(worker, fields, [&rows](const nlohmann::json& event) {
    if (event.value("event", "") != "costs") return false;
    rows = event.value("implementations", nlohmann::json::array());
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  return rows;
}

}  // namespace attnscope::cli
