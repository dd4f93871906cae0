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

/// Of a measured row: "2 of 30 samples were throttled", "36 MiB of ... counted ...". Mostly empty.
[[nodiscard]] std::vector<std::string> notes_on(const Row& row);

}  // namespace attnscope::report
