#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tables of a run: one row per cell, with the columns of the command line's contract, in text,
// Markdown, CSV, LaTeX (booktabs, in the form of the paper's Table 3) and JSON. Numbers are written
// with a decimal point in every locale.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/sheet.h"
#include "engine/statistics/drift.h"
#include "engine/statistics/summary.h"
#include "engine/store/store.h"
#include "engine/sweep/sweep.h"

namespace attnscope::report {

struct MeasuredEffectiveness;

struct Row {
  StoredCell cell;
  std::optional<double> limit_ms;                // from the run's ceilings
  std::optional<double> share_of_limit;          // limit / median
  std::optional<statistics::Ratio> ratio;        // against the baseline, per document
  std::optional<statistics::Ratio> growth = {};  // set by add_growth
  statistics::Drift drift = {};                  // drift of its times over the heat
  // For a row that drifted: whether its ratio to the baseline, or else to the first other contender
  // measured in the same heat, drifted too.
  std::optional<bool> ratio_drifted = {};
  /// The effectiveness of its contender, measured with the run; null: not measured.
  std::shared_ptr<const MeasuredEffectiveness> effectiveness = {};
};

struct Table {
  RunInfo run;
  std::vector<Row> rows;
  std::optional<std::string> baseline;  // contender id
  bool has_growth = false;              // add_growth was called
  std::vector<Ceilings> ceilings = {};  // all measurements for the run's machine
  // Ids of all the run's contenders, regardless of the filter: they determine how each is drawn.
  std::vector<std::string> contenders = {};
};

/// A copy of the table without its rows, for a selection of them.
[[nodiscard]] Table without_rows(const Table& table);

/// Whether the row has a trustworthy time: status ok, not damaged, with samples.
[[nodiscard]] bool is_measured(const Row& row);
/// "oom" with its reason, for cells without a time; also "damaged".
struct Outcome {
  std::string status, reason;
};
[[nodiscard]] Outcome outcome_of(const Row& row);
/// The comparison with the baseline: difference_in_words, "baseline" for the baseline itself, "" if
/// there is nothing to compare with.
[[nodiscard]] std::string against_baseline(const Row& row);
/// Items of one call over the whole batch, and documents: an item may have several documents for
/// one query. At least 1.
[[nodiscard]] double items_of(const Row& row);
[[nodiscard]] double documents_of(const Row& row);
/// The 95th percentile of the call times in ns: the nearest rank over all samples. NaN without
/// samples.
[[nodiscard]] double p95_ns(const StoredCell& cell);
/// Documents that a call scores for the row's query, if the row is of a model.
[[nodiscard]] double candidates_of(const Row& row);
/// Executed over useful floating-point operations: 1 if only the pattern's products are computed,
/// 1.95 for overlapping chunks. For planned cells, whether or not they ran.
[[nodiscard]] std::optional<double> executed_ratio(const Row& row);
/// Pointers to all rows, for functions that take a selection of rows.
[[nodiscard]] std::vector<const Row*> all_rows(const std::vector<Row>& rows);
/// Divides a cell's times by its batch, so that contenders with different batches are comparable.
/// At one point all items have the same number of documents: ratios per item are ratios per
/// document.
[[nodiscard]] std::vector<statistics::Observation> per_item(const StoredCell& cell);
/// A row's time over another's at the same point, per item: paired if both were measured together
/// with the same batch. Empty if either has no time.
[[nodiscard]] std::optional<statistics::Ratio> ratio_between(const Row& row, const Row& baseline);
/// The display name without its trailing window: one name for all windows of a contender.
[[nodiscard]] std::string base_name(const Contender& contender);

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

[[nodiscard]] std::string write_table(const Table& table, TableFormat format);

/// Rows in CSV (RFC 4180) and JSON have at least the columns of the command line's contract. A cell
/// whose fingerprint does not match has the status "damaged" and no values.
inline constexpr std::string_view damaged_status = "damaged";

/// The notes to the cells: one sentence for each kind of note, with the names of the affected
/// contenders if they are few, and one for each reason of cells without a time.
[[nodiscard]] std::vector<std::string> notes_below(const std::vector<const Row*>& rows);
/// notes_below, and the extent of the widest intervals: for tables that have no room for each
/// interval.
[[nodiscard]] std::vector<std::string> notes_with_intervals(const std::vector<const Row*>& rows);

/// "executes 1.95x the useful products"; empty if the work is not known.
[[nodiscard]] std::string executed_in_words(const Row& row);

}  // namespace attnscope::report
