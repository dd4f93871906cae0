#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of a run's table: one stored cell with the values it is compared with, the quantities that
// follow from them, and the conditions under which it was measured. table.h reads rows and writes
// them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
/// with the same batch. Empty if either has no time or an implausible one.
[[nodiscard]] std::optional<statistics::Ratio> ratio_between(const Row& row, const Row& baseline);
/// The display name without its trailing window: one name for all windows of a contender.
[[nodiscard]] std::string base_name(const Contender& contender);
/// "executes 1.95x the useful products"; empty if the work is not known.
[[nodiscard]] std::string executed_in_words(const Row& row);

// The conditions under which a row's times and memory were measured, and the sentences that
// accompany the numbers if the conditions were not as required.

/// Median over the samples that have a value.
[[nodiscard]] std::optional<double> median_clock_mhz(const Row& row);
[[nodiscard]] std::optional<double> median_temperature_c(const Row& row);
[[nodiscard]] std::optional<double> median_power_w(const Row& row);
/// On a device: the time in which the host queues a call, in ns.
[[nodiscard]] std::optional<double> median_enqueue_ns(const Row& row);
/// Samples during which the processor or the device was throttled for heat or power.
[[nodiscard]] std::int64_t throttled_samples(const Row& row);

/// The number of cores that other processes kept busy, and how often the measuring process was
/// preempted.
[[nodiscard]] double median_foreign_load(const Row& row);
[[nodiscard]] std::int64_t involuntary_switches(const Row& row);
/// Outliers among the samples that the time is computed from.
[[nodiscard]] std::int64_t outlier_samples(const Row& row);
/// Whether delayed samples of the heat had to be used for the time, or more than a fifth of the
/// samples used are outliers, or another measurement ran at the same time.
[[nodiscard]] bool is_disturbed(const Row& row);
/// "31 of 48 cells were disturbed by other programs"; empty if none was.
[[nodiscard]] std::string disturbed_share(const std::vector<const Row*>& rows);
/// Whether the time is shorter than the measured ceilings allow: then the ceilings or the time are
/// wrong.
[[nodiscard]] bool is_beyond_limit(const Row& row);
/// Whether the time is implausible: far shorter than the measured ceilings allow, or the calls used
/// far more processor time than their threads have. Such a row is never the fastest of an answer.
[[nodiscard]] bool is_implausible(const Row& row);
/// "its time is implausible: ..."
[[nodiscard]] std::string why_implausible(const Row& row);
/// Whether the row was measured and its time is plausible.
[[nodiscard]] bool has_time(const Row& row);
/// Sentences about reasons to doubt the rows' times: disturbed cells, times below the limit, and
/// contenders whose scores were not compared with a reference.
[[nodiscard]] std::vector<std::string> doubts_about(const RunInfo& run,
                                                    const std::vector<const Row*>& rows);
/// How the reader carries out a suggested remedy: by a command in a shell, or in the window.
enum class Remedy : std::uint8_t { command, menu };
/// "31 of 48 cells were disturbed by other programs: close those and measure again, attnscope run
/// --again 3"; empty if none was. One sentence for the whole run, with the remedy.
[[nodiscard]] std::string disturbed_cells_in_words(const RunInfo& run,
                                                   const std::vector<const Row*>& rows,
                                                   Remedy remedy = Remedy::command);
/// The run's provenance line, with the number of the table's cells that were disturbed.
[[nodiscard]] std::string provenance_line(const Table& table);
/// "~" for a row that drifted, "!" for a disturbed row, "?" for an implausible row, or several of
/// them; usually empty.
[[nodiscard]] std::string marks_of(const Row& row);

/// For a measured row: "2 of 30 samples were throttled", "36 MiB of ... counted ...". Usually
/// empty.
[[nodiscard]] std::vector<std::string> notes_on(const Row& row);
[[nodiscard]] std::vector<std::string> notes_on_time(const Row& row);
[[nodiscard]] std::vector<std::string> notes_on_memory(const Row& row);

}  // namespace attnscope::report
