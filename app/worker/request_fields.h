#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Access to a request's fields. An invalid field throws a JsonProblem, which the caller of a
// handler reports.

#include <atomic>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "engine/pattern/axes.h"

namespace attnscope::worker {

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

/// A request as passed to handlers.
struct ReceivedRequest {
  const JsonField& message;
  const std::atomic<bool>& cancelled;
};

/// Number of threads; if absent or 0, all cores available to this process.
[[nodiscard]] int threads_of(const JsonField& message);
/// Device; if absent, the CPU. Throws with the reason if the device is not available.
[[nodiscard]] DeviceKind device_of(const JsonField& message);

}  // namespace attnscope::worker
