#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A worker that dies cannot say so, and from elsewhere its death looks like a lost connection. So
// the process that is started only watches: the worker is its child, and when that ends it says how
// in a last event, with the contender that ran, and ends the same way.
//
//   if (const auto exit_code = become_watched_worker()) return *exit_code;   // first thing in main

#include <optional>

#include "engine/heat/protocol.h"

namespace attnscope {

/// Returns in the child only: nothing, or the exit code to end with when no process could be made.
/// Call it while the process has one thread.
[[nodiscard]] std::optional<int> become_watched_worker();

/// The beacon that the watching process reads when this one has died.
[[nodiscard]] protocol::Beacon* watched_beacon();

}  // namespace attnscope
