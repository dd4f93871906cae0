// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/ask.h"

#include <chrono>
#include <utility>

#include "base/sentences.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {

Result<std::optional<nlohmann::json>> receive_event(
    WorkerProcess& worker, std::string_view kind, const std::atomic<int>* interrupted,
    const std::function<void(const nlohmann::json&)>& on_other) {
  constexpr std::chrono::milliseconds between_looks(200);
  while (true) {
    WorkerProcess::Read read = worker.read(between_looks);
    if (interrupted != nullptr && *interrupted > 0) return std::optional<nlohmann::json>();
    if (read.wait == WorkerProcess::Wait::timeout) continue;
    if (read.wait == WorkerProcess::Wait::ended)
      return fail("the measuring process ended before it answered: {}", read.ended.words);
    const std::string event = text_field(read.event, "event");
    if (event == protocol::RequestFailed::name) {
      const std::string message = text_field(read.event, "message");
      return fail("{}", message.empty() ? "the measuring process gave no reason" : message);
    }
    if (event == kind) return std::optional(std::move(read.event));
    if (on_other) {
      on_other(read.event);
    } else if (event != protocol::WaitingForTurn::name && event != protocol::Alive::name &&
               event != protocol::Progress::name) {
      return fail("the measuring process sent the event '{}' instead of '{}'", in_a_sentence(event),
                  kind);
    }
  }
}

}  // namespace attnscope
