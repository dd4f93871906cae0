#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One request to a worker and the wait for its answer.

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

/// Sends `request` and passes every event to `on_event` until it returns true (the answer is
/// complete). An error event, or a worker that exits earlier, is an error.
[[nodiscard]] Status ask(WorkerProcess& worker, const nlohmann::json& request,
                         const std::function<bool(const nlohmann::json&)>& on_event);

/// Waits for the event of that kind that answers the request; nothing if `interrupted` rises above
/// 0. Errors as in `ask`.
[[nodiscard]] Result<std::optional<nlohmann::json>> wait_for(WorkerProcess& worker,
                                                             std::string_view kind,
                                                             const std::atomic<int>& interrupted);

}  // namespace attnscope
