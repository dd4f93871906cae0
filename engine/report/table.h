#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tables of a run: one row per cell, with the columns of the command line's contract, in text,
// Markdown, CSV, LaTeX (booktabs, in the form of the paper's Table 3) and JSON. Numbers are written
// with a decimal point in every locale.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/sheet.h"
#include "engine/store/store.h"
#include "engine/sweep/sweep.h"

namespace attnscope::report {

/// Reads a run; rows are ordered by point, then in the sweep's order of contenders. `baseline` is a
/// contender id ("full/dense") or display name; the window of a windowed baseline may be omitted
/// only if it has exactly one. Errors list the run's contenders. Ratios are relative to the
/// baseline of the same heat, whether or not the filter keeps its row, and paired if both had the
/// same batch. In the filter, query_tokens and batch may also be the sweep's words (the query
/// without its [SEP], the batch's limit), so that `run --only` and `table --only` agree; the window
/// of a contender without one is `none`.
[[nodiscard]] Result<Table> make_table(const Store& store, const RunInfo& run,
                                       std::optional<std::string_view> baseline,
                                       const OnlyFilter& filter);

/// How far a contender is from linear: every row's time per token over that of the contender's
/// shortest length in the table, with all other axes equal. It is 1 at the shortest length, 1
/// everywhere for linear cost, and 2 at twice the length for quadratic cost.
void add_growth(Table& table);

/// Rows in CSV (RFC 4180) and JSON have at least the columns of the command line's contract.
[[nodiscard]] std::string write_table(const Table& table, TableFormat format);
/// The sheet that write_table writes for people: a block for each point, its notes below.
[[nodiscard]] Sheet sheet_of(const Table& table);

/// The notes to the cells: one sentence for each kind of note, with the names of the affected
/// contenders if they are few, and one for each reason of cells without a time.
[[nodiscard]] std::vector<std::string> notes_below(const std::vector<const Row*>& rows);
/// notes_below, and the extent of the widest intervals: for tables that have no room for each
/// interval.
[[nodiscard]] std::vector<std::string> notes_with_intervals(const std::vector<const Row*>& rows);

}  // namespace attnscope::report
