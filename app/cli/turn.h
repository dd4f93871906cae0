#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One measurement at a time, for commands that time computations themselves.

#include <set>
#include <string>
#include <string_view>

#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "engine/worker/turn_holder.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

/// Adds --now.
void add_now_option(CLI::App& command, bool& now);
/// Appended to the message that names the measurement a command waits for.
inline constexpr std::string_view other_ways_than_waiting =
    "Ctrl-C cancels, --now measures at the same time";

/// Waits until no other measurement runs on the worker's machine, and reports on stderr which one
/// it waits for. `what` describes this measurement to other waiting processes, "latency of MODEL".
/// Errors: interrupted.
[[nodiscard]] Result<TurnHolder> wait_for_turn(const WorkerChoice& worker,
                                               std::set<DeviceKind> devices, std::string what,
                                               bool now);
[[nodiscard]] Result<TurnHolder> wait_for_turn(const ModelArguments& arguments, std::string what,
                                               bool now);
/// "another measurement ran at the same time: ..."; usually empty.
[[nodiscard]] std::string note_on_others(TurnHolder& turn);

}  // namespace attnscope::cli
