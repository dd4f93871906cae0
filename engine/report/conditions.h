#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Under what conditions a row's times and memory were measured, and the sentences that belong
// beside them when they were not what they should be.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

/// Median over the samples that have one.
[[nodiscard]] std::optional<double> median_clock_mhz(const Row& row);
[[nodiscard]] std::optional<double> median_temperature_c(const Row& row);
/// Samples during which the processor or the device was slowed down for heat or power.
[[nodiscard]] std::int64_t throttled_samples(const Row& row);

/// Cores that other processes kept busy, and how often the measuring process was taken off one.
[[nodiscard]] double median_foreign_load(const Row& row);
[[nodiscard]] std::int64_t involuntary_switches(const Row& row);
/// Of those that its time rests on.
[[nodiscard]] std::int64_t outlier_samples(const Row& row);
/// Samples that something else held up (engine/heat/cell.h).
[[nodiscard]] std::int64_t held_up_samples(const Row& row);
/// So many samples of its heat were held up that its time rests on them too, or more than a fifth
/// of those that it rests on are outliers, or another measurement ran at the same time.
[[nodiscard]] bool is_disturbed(const Row& row);
/// "31 of 48 cells were disturbed by other programs"; empty where none was.
[[nodiscard]] std::string disturbed_share(const std::vector<const Row*>& rows);
/// "31 of 48 cells were disturbed by other programs: close those and measure again"; empty where
/// none was. One sentence for all of a run, its way out in it.
[[nodiscard]] std::string disturbed_cells_in_words(const std::vector<const Row*>& rows);
/// Its time is shorter than the measured ceilings allow: then the ceilings or it are wrong.
[[nodiscard]] bool is_beyond_limit(const Row& row);
/// Its time is not taken for true: far shorter than the measured ceilings allow, or its calls used
/// far more processor time than their threads have. It is never the fastest of an answer.
[[nodiscard]] bool is_implausible(const Row& row);
/// "its time is not taken for true: ..."
[[nodiscard]] std::string why_implausible(const Row& row);
/// Measured, with a time that is taken for true.
[[nodiscard]] bool has_time(const Row& row);
/// "2 of 48 cells took less than the measured ceilings allow: ..."; empty where none did.
[[nodiscard]] std::string beyond_limit_in_words(const std::vector<const Row*>& rows);
/// "NAME has weights of its own, ..."; empty where every measured row's scores were held against
/// the reference.
[[nodiscard]] std::string unchecked_in_words(const RunInfo& run,
                                             const std::vector<const Row*>& rows);
/// How whoever reads a sentence can do what it asks for: by a command in a shell, or in the window.
enum class Remedy : std::uint8_t { command, menu };
/// With it: "..., attnscope run --again 3".
[[nodiscard]] std::string disturbed_cells_in_words(const RunInfo& run,
                                                   const std::vector<const Row*>& rows,
                                                   Remedy remedy = Remedy::command);
/// The run's, with how many of the table's cells were disturbed.
[[nodiscard]] std::string provenance_line(const Table& table);
/// "~" of a row that drifted, "!" of one that was disturbed, "?" of one that is implausible, or
/// several of them; mostly empty.
[[nodiscard]] std::string marks_of(const Row& row);

/// Of a measured row: "2 of 30 samples were throttled", "36 MiB of ... counted ...". Mostly empty.
[[nodiscard]] std::vector<std::string> notes_on(const Row& row);
[[nodiscard]] std::vector<std::string> notes_on_time(const Row& row);
[[nodiscard]] std::vector<std::string> notes_on_memory(const Row& row);

}  // namespace attnscope::report
