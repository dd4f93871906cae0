#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Two runs set side by side, cell by cell: unpaired ratios with verdicts.

#include <string>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

struct ComparedCell {
  StoredCell a, b;
  std::optional<statistics::Ratio> ratio;  // b / a, when both are ok
};

struct Comparison {
  RunInfo run_a, run_b;
  std::vector<ComparedCell> cells;  // matched by point and contender id
  int only_in_a = 0, only_in_b = 0;
};

[[nodiscard]] Result<Comparison> compare_runs(const Store& store_a, const RunInfo& a,
                                              const Store& store_b, const RunInfo& b);
[[nodiscard]] std::string write_comparison(const Comparison& comparison);

}  // namespace attnscope::report
