#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What programs of other people compute, each in a process of its own (python/attnscope,
// docs/python.md). Implementations stand in the list behind those of this program; whole models do
// as well, and decline every attention (engine/model/served computes them).

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

/// Asks these programs what they have to offer; the list has it from its first use on, so this
/// comes before. `on_look` is called ten times a second while one is waited for. Errors: a program
/// that does not greet, an id that is no name or that is taken.
[[nodiscard]] Status serve_with(const std::vector<std::string>& programs, int threads,
                                const std::function<void()>& on_look = {});

/// For provenance: of each of them its id, program, what computes it and how long a call
/// takes that computes nothing. Empty without such programs.
[[nodiscard]] nlohmann::json served_in_words();

/// Those that run now, and the processes that they have started.
[[nodiscard]] std::vector<pid_t> served_processes();

}  // namespace attnscope
