#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of a run's table: one stored cell with the values it is compared with, and the quantities
// that follow from them. table.h reads rows and writes them.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/statistics/drift.h"
#include "engine/statistics/summary.h"
#include "engine/store/store.h"

namespace attnscope::report {

struct MeasuredEffectiveness;

struct Row {
  StoredCell cell;
  std::optional<double> limit_ms = {};           // from the run's ceilings
  std::optional<double> share_of_limit = {};     // limit / median
  std::optional<statistics::Ratio> ratio = {};   // against the baseline, per document
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
/// The status of a cell whose fingerprint does not match; it has no values.
inline constexpr std::string_view damaged_status = "damaged";
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
/// Median time and peak memory of a document. Precondition: the row is measured.
[[nodiscard]] double ns_per_document(const Row& row);
[[nodiscard]] double bytes_per_document(const Row& row);
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
/// Groups of the rows with one key, by their first rows; each in the original order.
[[nodiscard]] std::vector<std::vector<const Row*>> grouped(
    const std::vector<const Row*>& rows, const std::function<std::string(const Row&)>& key);
/// Divides a cell's times by its batch, so that contenders with different batches are comparable.
/// At one point all items have the same number of documents: ratios per item are ratios per
/// document.
[[nodiscard]] std::vector<statistics::Observation> per_item(const StoredCell& cell);
/// A row's time over another's at the same point, per item: paired if both were measured together
/// with the same batch. Empty if either has no time.
[[nodiscard]] std::optional<statistics::Ratio> ratio_between(const Row& row, const Row& baseline);
/// The display name without its trailing window: one name for all windows of a contender.
[[nodiscard]] std::string base_name(const Contender& contender);
/// "executes 1.95x the useful products"; empty if the work is not known.
[[nodiscard]] std::string executed_in_words(const Row& row);

}  // namespace attnscope::report
