#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Changes of a machine between two of its runs (clock, other tenants, updates), estimated from the
// cells that both runs have. Placements within a run do not show them, so intervals of ratios
// between runs must be widened by them.
//
//   BetweenRuns moved = between_runs(ratios, machine_moved);
//   Ratio r = unpaired_ratio(now, before, moved);

#include <span>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {

// As a logarithm.
inline constexpr double least_machine_shift = 0.05;
inline constexpr double most_machine_shift = 0.15;
inline constexpr double least_cell_shift = 0.01;

/// `ratios` are those of all shared cells with nothing added; `machine_moved` is the difference of
/// the machine's own rates in and between the runs, as a logarithm.
/// shift: the cells' median ratio. A change common to all cells cannot be distinguished from a
/// change of the machine, up to the known or presumed change of the machine (machine_moved, at
/// least 5% and at most 15%). spread: the spread of cells around that median (from the median
/// absolute deviation, so that a few changed cells do not count), beyond what their own intervals
/// explain; at least 1%.
[[nodiscard]] BetweenRuns between_runs(std::span<const Ratio> ratios, double machine_moved);

}  // namespace attnscope::statistics
