#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whether a contender's times moved while its heat was measured: a machine that warms up, a clock
// that falls, a neighbour that arrives. Drifting cells are flagged, never dropped.
//
//   Drift d = drift_of(observations);   if (d.is_flagged) ... d.change
//
// Two tests, each with a false-alarm rate of 0.5% where nothing drifts: Mann and Kendall's trend
// over the rounds of every placement, summed (ranks, so that no outlier makes or hides a trend, and
// a step counts as much as a slope), and Student's t between the first and the last worker process,
// against what placements within a process differ by. What differs from placement to placement
// within a process is placement, not drift.

#include <span>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {

struct Drift {
  /// 0.03: 3% slower at the end than at the start. Over the rounds of a placement (Theil and Sen's
  /// slope), or from the first process to the last when that is the surer of the two.
  double change = 0;
  bool is_flagged = false;
};
[[nodiscard]] Drift drift_of(std::span<const Observation> observations);

/// The same of a / b in the rounds that both have: what drifts alike cancels.
[[nodiscard]] Drift drift_of_ratio(std::span<const Observation> a, std::span<const Observation> b);

}  // namespace attnscope::statistics
