#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Comparison of two runs, cell by cell: unpaired ratios with verdicts. The intervals include what
// may have changed between the runs, see engine/statistics/summary.h.

#include <array>
#include <string>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/row.h"
#include "engine/report/table.h"
#include "engine/statistics/summary.h"

namespace attnscope::report {

struct ComparedCell {
  Row a, b;
  std::optional<statistics::Ratio> ratio;  // b / a, when both are ok
};

struct Comparison {
  RunInfo run_a, run_b;
  std::vector<ComparedCell> cells;  // matched by point and contender id
  int only_in_a = 0, only_in_b = 0;
  statistics::BetweenRuns between = {};      // added to every interval
  std::optional<double> machine_moved = {};  // 0.08: by 8%; empty without ceilings
  std::vector<std::string> apart = {};       // if no cell is shared: "threads: 2 in A, 1 in B"
};

[[nodiscard]] Result<Comparison> compare_runs(const Store& store_a, const RunInfo& a,
                                              const Store& store_b, const RunInfo& b);

/// A compared cell as text, as it is written and displayed.
struct ComparedLine {
  static constexpr std::size_t texts_count = 5;
  std::string setting;  // "2048 tokens, float16": the axes in which the cells differ
  std::array<std::string, texts_count> texts;
};
/// Contender, A, B, B vs A (by difference_in_words), its interval.
[[nodiscard]] const std::array<std::string, ComparedLine::texts_count>& comparison_headings();
/// In the order of Comparison::cells.
[[nodiscard]] std::vector<ComparedLine> comparison_lines(const Comparison& comparison);
/// One sentence each for differences between the runs, the number of cells per verdict, and what
/// may have changed between the runs.
[[nodiscard]] std::vector<std::string> comparison_notes(const Comparison& comparison,
                                                        Remedy remedy = Remedy::command);

/// B's time divided by A's over the length, for the slice with the most cells; an error if none of
/// its cells has a ratio.
[[nodiscard]] Result<Figure> comparison_figure(const Comparison& comparison);

/// JSON is an object: differences between the runs, what may have changed between them, and `cells`
/// with ratio, interval and verdict, null if a side has no time.
[[nodiscard]] std::string write_comparison(const Comparison& comparison,
                                           TableFormat format = TableFormat::text);

}  // namespace attnscope::report
