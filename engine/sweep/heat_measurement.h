#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One heat through worker processes: its placements are divided over them, and a process that dies
// costs the contender that ran. The others are then measured again whole, so that every time that
// is kept was measured beside the same contenders, on the same batch.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/sweep/worker_pool.h"

namespace attnscope {

struct HeatListener {
  std::function<void(const Contender&, const std::string& phase)> on_phase;
  std::function<void(const std::string&)> on_warning;
};

/// The heat's cells in the order of its contenders; nothing when it was cancelled; an error when no
/// worker can be had. What is far faster than the machine's `ceilings` is not believed.
[[nodiscard]] Result<std::optional<HeatResult>> measure_heat(
    const Heat& heat, WorkerPool& pool, const std::vector<Ceilings>& ceilings,
    std::optional<std::chrono::milliseconds> patience, const HeatListener& listener);

/// One heat measured by several worker processes as one result: samples pooled, a cell ok only when
/// it was ok in every process.
struct PooledHeat {
  HeatResult result;
  std::vector<std::string> warnings;
};

/// `shares` hold the same contenders in the same order, at least one share. A share that measured
/// another batch is left out with a warning, since its times are of another problem.
[[nodiscard]] PooledHeat pool_cells(std::vector<HeatResult> shares);

/// The placements 0 ... placements-1 in as many equal runs as there are processes.
[[nodiscard]] std::vector<std::vector<int>> divide_placements(int placements, int processes);

}  // namespace attnscope
