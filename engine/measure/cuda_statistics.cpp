// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/cuda_statistics.h"

#include <algorithm>

#include "engine/measure/machine_memory.h"

namespace attnscope::measure {

HeatMemory::Counters counters_of(const CudaAllocatorStatistics& statistics) {
  return {.requested = statistics.requested,
          .requested_peak = statistics.requested_peak,
          .reserved = statistics.reserved,
          .reserved_peak = statistics.reserved_peak,
          .cached = statistics.reserved - statistics.active,
          .fresh = statistics.reserved_ever};
}

std::int64_t free_for_requests(const CudaAllocatorStatistics& statistics, std::int64_t driver_free,
                               std::int64_t driver_total, std::optional<std::int64_t> limit) {
  const std::int64_t margin = std::clamp(driver_total / 50, 256 * mib, 2048 * mib);
  const std::int64_t cached = statistics.reserved - statistics.active;
  std::int64_t free = driver_free + cached - margin;
  if (limit) free = std::min(free, *limit - statistics.active);
  return std::max<std::int64_t>(free, 0);
}

double without_empty_pair(double between_ns, double empty_ns) {
  return std::max(between_ns - empty_ns, between_ns / 2);
}

std::string requested_and_free(std::string_view libtorch_words) {
  constexpr std::string_view last = " is free.";
  const std::size_t at = libtorch_words.find(last);
  if (at == std::string_view::npos) return std::string(libtorch_words);
  return std::string(libtorch_words.substr(0, at + last.size()));
}

}  // namespace attnscope::measure
