#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What may have moved between two runs of one machine, from the cells that both have: a clock, a
// neighbour, an update. Placements of a run do not show it, so ratios between runs need it added.
//
//   BetweenRuns moved = between_runs(ratios, machine_moved);
//   Ratio r = unpaired_ratio(now, before, moved);

#include <span>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {

// As logarithms.
inline constexpr double least_machine_shift = 0.05;
inline constexpr double most_machine_shift = 0.15;
inline constexpr double least_cell_shift = 0.01;

/// `ratios` are those of all shared cells with nothing added; `machine_moved` is by how much the
/// machine's own rates differed in and between the runs, as a logarithm.
///
/// shift: the cells' median ratio. What all cells have in common cannot be told from the machine,
/// up to what the machine is known or presumed to move by (machine_moved, at least 5% and at most
/// 15%). spread: of the cells around that median (from the median absolute deviation, so that a few
/// cells that did change do not count), beyond what their own intervals explain; at least 1%.
[[nodiscard]] BetweenRuns between_runs(std::span<const Ratio> ratios, double machine_moved);

}  // namespace attnscope::statistics
