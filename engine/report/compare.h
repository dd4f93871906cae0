#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Two runs set side by side, cell by cell: unpaired ratios with verdicts. Their intervals hold what
// may have moved between the runs, see engine/statistics/between_runs.h.

#include <string>
#include <vector>

#include "engine/report/table.h"
#include "engine/statistics/between_runs.h"

namespace attnscope::report {

struct ComparedCell {
  StoredCell a, b;
  std::optional<statistics::Ratio> ratio;  // b / a, when both are ok
};

struct Comparison {
  RunInfo run_a, run_b;
  std::vector<ComparedCell> cells;  // matched by point and contender id
  int only_in_a = 0, only_in_b = 0;
  statistics::BetweenRuns between = {};      // added to every interval
  std::optional<double> machine_moved = {};  // 0.08: by 8%; none without ceilings
};

[[nodiscard]] Result<Comparison> compare_runs(const Store& store_a, const RunInfo& a,
                                              const Store& store_b, const RunInfo& b);
[[nodiscard]] std::string write_comparison(const Comparison& comparison);
/// An object: what is not alike, what may have moved between the runs, and `cells` with ratio,
/// interval and verdict, null where a side has no time.
[[nodiscard]] std::string write_comparison_json(const Comparison& comparison);

}  // namespace attnscope::report
