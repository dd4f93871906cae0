// SPDX-License-Identifier: Apache-2.0
#include "engine/report/conditions.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/report/number_text.h"

namespace attnscope::report {
namespace {

std::optional<double> median(const Row& row, std::optional<double> Sample::*what) {
  std::vector<double> values;
  for (const Sample& sample : row.cell.cell.samples)
    if (sample.*what) values.push_back(*(sample.*what));
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::optional<double> median_clock_mhz(const Row& row) {
  return median(row, &Sample::clock_mhz);
}

std::optional<double> median_temperature_c(const Row& row) {
  return median(row, &Sample::temperature_c);
}

std::int64_t throttled_samples(const Row& row) {
  return std::ranges::count(row.cell.cell.samples, true, &Sample::throttled);
}

std::vector<std::string> notes_on(const Row& row) {
  std::vector<std::string> notes;
  if (!is_measured(row)) return notes;
  if (const std::int64_t throttled = throttled_samples(row); throttled > 0) {
    notes.push_back(fmt::format("{} of {} samples were taken while throttled for heat or power",
                                throttled, row.cell.cell.samples.size()));
  }
  if (const CellMemory& memory = row.cell.cell.memory; has_unseen_memory(memory)) {
    notes.push_back(fmt::format(
        "its process grew by {} a call where {} were counted: it allocates outside the counted "
        "allocators",
        format_bytes(static_cast<double>(*memory.process_peak_bytes)),
        format_bytes(static_cast<double>(memory.requested_bytes))));
  }
  return notes;
}

}  // namespace attnscope::report
