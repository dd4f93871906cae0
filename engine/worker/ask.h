#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A request to a worker and its answer, as messages (machine_messages.h, model_messages.h).
//
//   Result<protocol::Scores> scores = ask(worker, protocol::ScoreRequest{.cls = 101, ...});

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/result.h"
#include "engine/worker/protocol.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

/// Sends a request whose answer is received later.
template <typename Request>
[[nodiscard]] Status send_request(WorkerProcess& worker, const Request& request) {
  return worker.send(protocol::as_request(request));
}

/// The next event of this kind; nothing if `interrupted` (may be null) rises above 0. Other events
/// go to `on_other`; without it, events that no request sends before its answer are errors. Errors:
/// an error event, and a worker that exits before the answer.
[[nodiscard]] Result<std::optional<nlohmann::json>> receive_event(
    WorkerProcess& worker, std::string_view kind, const std::atomic<int>* interrupted,
    const std::function<void(const nlohmann::json&)>& on_other = {});

/// The answer to a request that was sent; nothing if `interrupted` rises above 0.
template <typename Request>
[[nodiscard]] Result<std::optional<typename Request::Answer>> receive_answer(
    WorkerProcess& worker, const std::atomic<int>& interrupted) {
  using Answer = typename Request::Answer;
  const auto event = receive_event(worker, Answer::name, &interrupted);
  if (!event) return tl::unexpected(event.error());
  if (!*event) return std::optional<Answer>();
  return protocol::read_message<Answer>(**event).map(
      [](Answer answer) { return std::optional(std::move(answer)); });
}

/// Sends a request and waits for its answer. Other events go to `on_other`.
template <typename Request>
[[nodiscard]] Result<typename Request::Answer> ask(
    WorkerProcess& worker, const Request& request,
    const std::function<void(const nlohmann::json&)>& on_other = {}) {
  if (Status sent = send_request(worker, request); !sent) return tl::unexpected(sent.error());
  const auto event = receive_event(worker, Request::Answer::name, nullptr, on_other);
  if (!event) return tl::unexpected(event.error());
  return protocol::read_message<typename Request::Answer>(**event);
}

}  // namespace attnscope
