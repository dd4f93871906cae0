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
[[nodiscard]] std::int64_t outlier_samples(const Row& row);
/// Others kept more than a tenth of the cores it uses busy during half of its samples, or more than
/// a fifth of its samples are outliers.
[[nodiscard]] bool is_disturbed(const Row& row);
/// "~" of a row that drifted, "!" of one that was disturbed, "~!" of both; mostly empty.
[[nodiscard]] std::string marks_of(const Row& row);

/// Of a measured row: "2 of 30 samples were throttled", "36 MiB of ... counted ...". Mostly empty.
[[nodiscard]] std::vector<std::string> notes_on(const Row& row);
[[nodiscard]] std::vector<std::string> notes_on_time(const Row& row);
[[nodiscard]] std::vector<std::string> notes_on_memory(const Row& row);
/// "full/dense, 256 tokens: oom: it asks for 9.1 GB": notes on a row, or why it has no time.
[[nodiscard]] std::vector<std::string> notes_with_name(const Row& row);

}  // namespace attnscope::report
