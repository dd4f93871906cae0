// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/process_peak.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/measure/available_memory.h"

namespace attnscope::measure {
namespace {

/// Since Linux 4.0; containers may refuse it.
bool forget_peaks() {
  std::ofstream file("/proc/self/clear_refs");
  constexpr const char* resident_peak = "5";
  return static_cast<bool>(file << resident_peak << std::flush);
}

}  // namespace

std::optional<ProcessPeak::Resident> ProcessPeak::read() {
  std::ifstream file("/proc/self/status");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // Its lines have the form of /proc/meminfo's.
  const auto now = meminfo_bytes(text, "VmRSS");
  const auto peak = meminfo_bytes(text, "VmHWM");
  if (!now || !peak) return std::nullopt;
  return Resident{*now, *peak, meminfo_bytes(text, "RssFile").value_or(0)};
}

ProcessPeak::ProcessPeak() {
  if (forget_peaks()) before_ = read();
}

std::optional<std::int64_t> ProcessPeak::grown_bytes() const {
  const std::optional<Resident> after = read();
  if (!before_ || !after) return std::nullopt;
  const std::int64_t files = std::max<std::int64_t>(after->of_files - before_->of_files, 0);
  return std::max<std::int64_t>(after->peak - before_->now - files, 0);
}

}  // namespace attnscope::measure
