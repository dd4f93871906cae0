#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A request's fields: what does not fit is a JsonProblem, which the caller of a handler answers.

#include <atomic>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "engine/pattern/axes.h"
#include "kernels/base/json.h"
#include "kernels/base/result.h"

namespace attnscope::worker {

/// One sentence for the driver, thrown out of a handler.
class RequestError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value, or the error thrown: what the engine answers to a handler.
template <typename T>
T taken(Result<T> result) {
  if (!result) throw RequestError(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A request as handlers get it.
struct Asked {
  const JsonField& message;
  const std::atomic<bool>& cancelled;
};

/// Absent or 0: every core this process may use.
[[nodiscard]] int threads_of(const JsonField& message);
/// Absent: the processor. One that cannot be used is refused with the reason.
[[nodiscard]] DeviceKind device_of(const JsonField& message);

}  // namespace attnscope::worker
