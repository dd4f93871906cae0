#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The hierarchical bootstrap of a median: processes are drawn with replacement, then placements of
// each, then rounds of each. Values are ranked once, so a resample only counts ranks; 5 placements
// of 100 rounds take about a millisecond.

#include <span>

#include "engine/statistics/interval.h"
#include "engine/statistics/placements.h"

namespace attnscope::statistics {

/// 95% percentile interval of the median over all values; those of a process lie together.
[[nodiscard]] Interval bootstrap_median(std::span<const Placement> placements);

}  // namespace attnscope::statistics
