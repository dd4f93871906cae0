#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The conditions under which a row's times and memory were measured, and the sentences that
// accompany the numbers if the conditions were not as required.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/report/row.h"

namespace attnscope::report {

/// Median over the samples that have a value.
[[nodiscard]] std::optional<double> median_clock_mhz(const Row& row);
[[nodiscard]] std::optional<double> median_temperature_c(const Row& row);
/// Samples during which the processor or the device was throttled for heat or power.
[[nodiscard]] std::int64_t throttled_samples(const Row& row);

/// The number of cores that other processes kept busy, and how often the measuring process was
/// preempted.
[[nodiscard]] double median_foreign_load(const Row& row);
[[nodiscard]] std::int64_t involuntary_switches(const Row& row);
/// Outliers among the samples that the time is computed from.
[[nodiscard]] std::int64_t outlier_samples(const Row& row);
/// Samples that were delayed by other activity (engine/heat/cell.h).
[[nodiscard]] std::int64_t held_up_samples(const Row& row);
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
