// SPDX-License-Identifier: Apache-2.0
#include "engine/report/memory_growth.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace attnscope::report {

Need need_of(const Row& row) {
  const double items = items_of(row);
  // A model reads token ids and gives scores: its peak is all it needs beside its weights.
  const bool of_model = row.cell.point.operation == Operation::model;
  return {static_cast<double>(row.cell.point.sequence_tokens),
          static_cast<double>(peak_bytes(row.cell.cell.memory)) / items,
          of_model ? 0 : std::max(0.0, row.cell.cell.work.least_bytes) / items};
}

Need need_at(double tokens, const Need& before, const Need& longest) {
  double power = 1;
  if (before.peak > 0 && longest.peak > 0 && longest.tokens > before.tokens) {
    power = std::log(longest.peak / before.peak) / std::log(longest.tokens / before.tokens);
  }
  power = std::clamp(power, 0.0, 2.0);
  const double times = tokens / longest.tokens;
  return {tokens, longest.peak * std::pow(times, power), longest.tensors * times};
}

double longest_within(double available, const Need& before, const Need& longest) {
  double fits = longest.tokens, not_any_more = longest.tokens * farthest_prediction;
  if (need_at(not_any_more, before, longest).bytes() <= available) return not_any_more;
  while (not_any_more - fits > 0.5) {
    const double middle = (fits + not_any_more) / 2;
    (need_at(middle, before, longest).bytes() <= available ? fits : not_any_more) = middle;
  }
  return std::floor(fits);
}

std::int64_t two_digits(double value) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1));
  return static_cast<std::int64_t>(std::floor(value / unit) * unit);
}

std::optional<double> free_bytes_at_start(const RunInfo& run, DeviceKind device) {
  if (device != DeviceKind::cpu) return std::nullopt;
  const auto provenance = nlohmann::json::parse(run.start.provenance, nullptr, false);
  if (!provenance.is_object()) return std::nullopt;
  const auto machine = provenance.find("device");
  if (machine == provenance.end() || !machine->is_object()) return std::nullopt;
  const auto bytes = machine->find("available_bytes");
  if (bytes == machine->end() || !bytes->is_number()) return std::nullopt;
  return bytes->get<double>();
}

}  // namespace attnscope::report
