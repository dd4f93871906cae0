#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tables of a run: one row a cell, with the columns of the command line's contract, and their text,
// Markdown, CSV, LaTeX (booktabs, in the form of the paper's Table 3) and JSON forms. Numbers are
// written with a decimal point in every locale.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/statistics/summary.h"
#include "engine/store/store.h"
#include "engine/sweep/sweep.h"
#include "kernels/plan/result.h"

namespace attnscope::report {

struct Row {
  StoredCell cell;
  std::optional<double> limit_ms;        // from the run's ceilings
  std::optional<double> share_of_limit;  // limit / median
  std::optional<statistics::Ratio> ratio;  // against the baseline, per document
};

struct Table {
  RunInfo run;
  std::vector<Row> rows;
  std::optional<std::string> baseline;  // contender id
};

/// Reads a run. `baseline` is a contender id ("full/dense") or display name; a windowed baseline may
/// leave its window out only when it has one. Errors list the run's contenders.
[[nodiscard]] Result<Table> make_table(const Store& store, const RunInfo& run,
                                       std::optional<std::string_view> baseline,
                                       const OnlyFilter& filter);

enum class TableFormat : std::uint8_t { text, markdown, csv, latex, json };
[[nodiscard]] Result<TableFormat> parse_table_format(std::string_view text);
[[nodiscard]] std::string write_table(const Table& table, TableFormat format);

/// One line of provenance for table footers and figure metadata.
[[nodiscard]] std::string provenance_line(const RunInfo& run);

// Value formatting shared with the window: "2.41 ms", "12.6 MB", "-43 %".
[[nodiscard]] std::string format_time(double ns);
[[nodiscard]] std::string format_bytes(double bytes);
[[nodiscard]] std::string format_relative(double ratio);  // 0.57 -> "-43 %"

}  // namespace attnscope::report
