#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measures one heat with worker processes: its placements are divided among them, and when a
// process dies, the running contender fails. The others are then measured again completely, so that
// all stored times are measured together with the same contenders and on the same batch.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/worker/worker_pool.h"

namespace attnscope {

struct HeatListener {
  std::function<void(const Contender&, const std::string& phase)> on_phase;
  std::function<void(const std::string&)> on_warning;
};

/// The heat's cells in the order of its contenders; nothing when it was cancelled; an error when no
/// worker is available. Times far below what the machine's `ceilings` allow are rejected.
[[nodiscard]] Result<std::optional<HeatResult>> measure_heat(
    const Heat& heat, WorkerPool& pool, const std::vector<Ceilings>& ceilings,
    std::optional<std::chrono::milliseconds> patience, const HeatListener& listener);

/// One heat measured by several worker processes, combined into one result: samples are pooled, and
/// a cell is ok only if it was ok in every process.
struct PooledHeat {
  HeatResult result;
  std::vector<std::string> warnings;
};

/// `shares` contain the same contenders in the same order; at least one share is required. A share
/// with another batch is left out with a warning, because its times belong to another problem.
[[nodiscard]] PooledHeat pool_cells(std::vector<HeatResult> shares);

/// Divides the placements 0 ... placements-1 into one contiguous range per process, of equal length
/// where possible.
[[nodiscard]] std::vector<std::vector<int>> divide_placements(int placements, int processes);

}  // namespace attnscope
