#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The plan of a run: its heats in full, patterns included, as JSON that is stored with the run. A
// run is resumed from it, so neither files nor the current folder nor --only have to be as before.

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/store/store.h"
#include "engine/sweep/sweep.h"

namespace attnscope {

/// Heats keep their place in the sweep, also where they are a part of it.
[[nodiscard]] nlohmann::json plan_json(const std::vector<Heat>& heats);
[[nodiscard]] Result<std::vector<Heat>> read_plan(const nlohmann::json& plan);

/// The plan stored with a run.
[[nodiscard]] Result<std::vector<Heat>> stored_heats(const RunInfo& run);

/// What was evaluated of its contenders' TREC runs when it was started; nothing of a run that has
/// none, or that is damaged.
[[nodiscard]] std::optional<effectiveness::MeasuredRuns> stored_runs(const RunInfo& run);
/// Where they are in its provenance.
inline constexpr const char* stored_runs_key = "effectiveness";

/// A stored run as a sweep to be run again: its heats as they were planned, patterns, --only and
/// numbers of threads included, whatever has become of the files since.
[[nodiscard]] Result<Sweep> stored_sweep(const RunInfo& run);

}  // namespace attnscope
