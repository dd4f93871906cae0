#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What all handlers of requests use. A handler throws a RequestError, which its caller reports.

#include <atomic>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "app/worker/protocol_channel.h"
#include "base/result.h"
#include "engine/pattern/axes.h"
#include "engine/worker/machine_messages.h"

namespace attnscope::worker {

struct LoadedModel;

/// An error message for the driver, thrown by a handler.
class RequestError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the value, or throws the engine's error for the caller of a handler.
template <typename T>
T taken(Result<T> result) {
  if (!result) throw RequestError(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// How a handler answers: events go to the channel, and a request ends early once it is cancelled.
struct Call {
  ProtocolChannel& channel;
  const std::atomic<bool>& cancelled;
  LoadedModel& model;  // loaded by `model` for later requests

  template <typename Event>
  void send(const Event& event) const {
    channel.send(protocol::as_event(event));
  }
};

/// The number of threads; for 0, all cores available to this process.
[[nodiscard]] int threads_or_all(int threads);
/// The device. Throws with the reason if nothing can be computed on it.
[[nodiscard]] DeviceKind usable(DeviceKind device);

}  // namespace attnscope::worker
