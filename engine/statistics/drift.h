#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Detects drift of a contender's times while its heat is measured: a machine that warms up, a
// falling clock, a new load on the machine. Drifting cells are flagged, never dropped.
//
//   Drift d = drift_of(observations);   if (d.is_flagged) ... d.change
//
// Two tests, each with a false-alarm rate of 0.5% where nothing drifts: Mann and Kendall's trend
// over the rounds of every placement, summed (ranks, so that no outlier makes or hides a trend, and
// a step counts as much as a slope), and Student's t between the first and the last worker process,
// relative to the spread of placements within a process. Differences between placements of one
// process count as placement effects, not as drift.

#include <span>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {

struct Drift {
  /// 0.03: 3% slower at the end than at the start. From the rounds of a placement (Theil-Sen
  /// slope), or from the first process to the last if that estimate is the more certain one.
  double change = 0;
  bool is_flagged = false;
};
[[nodiscard]] Drift drift_of(std::span<const Observation> observations);

/// Drift of the ratio a / b in their shared rounds: common drift cancels.
[[nodiscard]] Drift drift_of_ratio(std::span<const Observation> a, std::span<const Observation> b);

}  // namespace attnscope::statistics
