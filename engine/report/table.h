#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tables of a run: one row a cell, with the columns of the command line's contract, and their text,
// Markdown, CSV, LaTeX (booktabs, in the form of the paper's Table 3) and JSON forms. Numbers are
// written with a decimal point in every locale.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/sheet.h"
#include "engine/statistics/drift.h"
#include "engine/statistics/summary.h"
#include "engine/store/store.h"
#include "engine/sweep/sweep.h"
#include "kernels/base/result.h"

namespace attnscope::report {

struct MeasuredEffectiveness;

struct Row {
  StoredCell cell;
  std::optional<double> limit_ms;                // from the run's ceilings
  std::optional<double> share_of_limit;          // limit / median
  std::optional<statistics::Ratio> ratio;        // against the baseline, per document
  std::optional<statistics::Ratio> growth = {};  // see add_growth
  statistics::Drift drift = {};                  // of its times over the heat
  // Of a row that drifted, whether its ratio to the baseline, or else to the first other contender
  // measured beside it, did too.
  std::optional<bool> ratio_drifted = {};
  /// Of its contender, measured with the run; null: it was not.
  std::shared_ptr<const MeasuredEffectiveness> effectiveness = {};
};

struct Table {
  RunInfo run;
  std::vector<Row> rows;
  std::optional<std::string> baseline;  // contender id
  bool has_growth = false;              // add_growth was called
  std::vector<Ceilings> ceilings = {};  // of the run's machine, every measurement of them
  // Ids of all the run's contenders, whatever the filter kept: they decide how each is drawn.
  std::vector<std::string> contenders = {};
};

/// The same table without its rows, to take some of them.
[[nodiscard]] Table without_rows(const Table& table);

/// Whether the row has a time that may be trusted: status ok, not damaged, samples there.
[[nodiscard]] bool is_measured(const Row& row);
/// "oom" with its reason, for cells that have no time; "damaged" likewise.
struct Outcome {
  std::string status, reason;
};
[[nodiscard]] Outcome outcome_of(const Row& row);
/// What it says against the baseline: difference_in_words, "baseline" of the baseline itself, "" of
/// what there is nothing to compare with.
[[nodiscard]] std::string against_baseline(const Row& row);
/// Items of one call over the whole batch, and documents: an item may have several beside one
/// query. At least 1.
[[nodiscard]] double items_of(const Row& row);
[[nodiscard]] double documents_of(const Row& row);
/// The time that one call in twenty goes beyond: the nearest rank over all samples. NaN without
/// any.
[[nodiscard]] double p95_ns(const StoredCell& cell);
/// Documents that the row's query was scored against in a call, where it is one of a model.
[[nodiscard]] double candidates_of(const Row& row);
/// Executed over useful floating-point operations: 1 for what computes the pattern's products and
/// nothing else, 1.95 for chunks that overlap. Of planned cells, whether or not they ran.
[[nodiscard]] std::optional<double> executed_ratio(const Row& row);
/// All of them, as functions that take a choice of rows want them.
[[nodiscard]] std::vector<const Row*> all_rows(const std::vector<Row>& rows);
/// Divides a cell's times by its batch, so that contenders of different batches compare. At one
/// point all items have equally many documents: ratios per item are ratios per document.
[[nodiscard]] std::vector<statistics::Observation> per_item(const StoredCell& cell);
/// A row's time over another's at the same point, per item: paired where both were measured
/// together with the same batch. Nothing where one of them has no time.
[[nodiscard]] std::optional<statistics::Ratio> ratio_between(const Row& row, const Row& baseline);
/// Display name without the window that it ends in: one word for all windows of a contender.
[[nodiscard]] std::string base_name(const Contender& contender);

/// Reads a run; rows are ordered by point, then as the sweep orders its contenders. `baseline` is a
/// contender id ("full/dense") or display name; a windowed baseline may leave its window out only
/// when it has one. Errors list the run's contenders. Ratios are against the baseline of the same
/// heat, whether or not the filter keeps its row, and paired where both had the same batch. In the
/// filter query_tokens and batch may also be the sweep's words (the query without its [SEP], the
/// batch's limit), so that `run --only` and `table --only` agree; the window of a contender that
/// has none is `none`.
[[nodiscard]] Result<Table> make_table(const Store& store, const RunInfo& run,
                                       std::optional<std::string_view> baseline,
                                       const OnlyFilter& filter);

/// How far a contender is from linear: every row's time per token over that of the shortest length
/// the table has of the same contender, all other axes alike. 1 at the shortest, 1 everywhere for
/// what is linear, 2 at twice the length for what is quadratic.
void add_growth(Table& table);

[[nodiscard]] std::string write_table(const Table& table, TableFormat format);

/// Rows in CSV (RFC 4180) and JSON have the columns of the command line's contract, and more. A
/// cell whose fingerprint does not match has the status "damaged" and no values.
inline constexpr std::string_view damaged_status = "damaged";

/// What has to be known beside the cells: one sentence for each kind of it, with the names of those
/// it holds for where they are few, and one for each reason of cells without a time.
[[nodiscard]] std::vector<std::string> notes_below(const std::vector<const Row*>& rows);
/// Those, and how far the widest intervals reach: below tables that have no room for each.
[[nodiscard]] std::vector<std::string> notes_with_intervals(const std::vector<const Row*>& rows);

/// "executes 1.95x the useful products"; empty where the work is not known.
[[nodiscard]] std::string executed_in_words(const Row& row);

}  // namespace attnscope::report
