#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One measurement at a time, of commands that time something themselves.

#include <set>
#include <string>
#include <string_view>

#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "engine/sweep/turn_holder.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

/// Adds --now.
void add_now_option(CLI::App& command, bool& now);
/// Said behind whom a command waits for.
inline constexpr std::string_view other_ways_than_waiting =
    "Ctrl-C cancels, --now measures at the same time";

/// Waits until no other measurement goes on where the worker is, and says meanwhile on stderr for
/// whom. `what`: for those who then wait, "latency of MODEL". Errors: interrupted.
[[nodiscard]] Result<TurnHolder> wait_for_turn(const WorkerChoice& worker,
                                               std::set<DeviceKind> devices, std::string what,
                                               bool now);
[[nodiscard]] Result<TurnHolder> wait_for_turn(const ModelArguments& arguments, std::string what,
                                               bool now);
/// "another measurement ran at the same time: ..."; mostly empty.
[[nodiscard]] std::string note_on_others(TurnHolder& turn);

}  // namespace attnscope::cli
