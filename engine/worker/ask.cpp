// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/ask.h"

#include <chrono>
#include <string>
#include <utility>

namespace attnscope {

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
      return fail("{}",
                  read.event.value("message",
                                   "the measuring process reported an error without a message."));
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
      return fail("the computing process ended before it answered: {}", read.ended.words);
    }
    const std::string event = read.event.value("event", "");
    if (event == "error")
      return fail("{}", read.event.value("message", "an error without a message"));
    if (event == kind) return std::optional(std::move(read.event));
  }
}

}  // namespace attnscope
