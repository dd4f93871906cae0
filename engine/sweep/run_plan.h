#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The plan of a run: its complete heats, patterns included, as JSON that is stored with the run.
// Resuming a run uses only the plan, so files, the current folder and --only may have changed.

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/store/store.h"
#include "engine/sweep/sweep.h"

namespace attnscope {

/// Heats keep their index in the sweep, even if they are only a part of it.
[[nodiscard]] nlohmann::json plan_json(const std::vector<Heat>& heats);
[[nodiscard]] Result<std::vector<Heat>> read_plan(const nlohmann::json& plan);

/// The plan stored with a run.
[[nodiscard]] Result<std::vector<Heat>> stored_heats(const RunInfo& run);

/// The evaluation of its contenders' TREC runs at the start; nothing for a run without TREC runs or
/// for a damaged run.
[[nodiscard]] std::optional<effectiveness::MeasuredRuns> stored_runs(const RunInfo& run);
/// Key of the evaluation in the run's provenance.
inline constexpr const char* stored_runs_key = "effectiveness";

/// A stored run as a sweep to run again: its heats as planned, with patterns, --only and numbers of
/// threads, independent of later changes to the files.
[[nodiscard]] Result<Sweep> stored_sweep(const RunInfo& run);

}  // namespace attnscope
