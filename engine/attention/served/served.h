#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Implementations computed by external programs, each in its own process (python/attnscope,
// docs/python.md). They follow this program's implementations in the list; whole models do as well,
// and decline every attention (engine/model/served computes them).

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace attnscope {

/// Requests the offers of these programs. The list includes them from its first use on, so call
/// this before. `on_look` is called ten times a second while it waits for a program. Errors: a
/// program that does not greet, an id that is invalid or already in use.
[[nodiscard]] Status serve_with(const std::vector<std::string>& programs, int threads,
                                const std::function<void()>& on_look = {});

/// Provenance of each of them: its id, its program, what computes it and the time of an empty call.
/// Empty without such programs.
[[nodiscard]] nlohmann::json served_in_words();

/// The running programs, and the processes that they have started.
[[nodiscard]] std::vector<pid_t> served_processes();

}  // namespace attnscope
