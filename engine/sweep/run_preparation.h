#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a run settles with its worker before anything is measured: names, threads, provenance.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/store/store.h"
#include "engine/sweep/sweep.h"

namespace attnscope {

/// Every implementation of the heats is one that the worker's greeting lists.
[[nodiscard]] Status check_implementations(const std::vector<Heat>& heats,
                                           const nlohmann::json& hello);

/// Threads 0 become `cores`; an error when two heats are then the same point.
[[nodiscard]] Status settle_threads(std::vector<Heat>& heats, int cores);

/// The record of a start: device and build from the greeting, this program's own build, and the
/// plan of a run that starts (a resumed one has its own). `again_of` is the run that it repeats, if
/// any.
[[nodiscard]] NewRun describe_run(const Sweep& sweep, const nlohmann::json& hello,
                                  const std::string& command_line, const nlohmann::json& plan,
                                  const std::string& again_of = {});

}  // namespace attnscope
