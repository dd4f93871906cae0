#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's CUDA allocator in the words of HeatMemory, and what lies between two events: plain
// arithmetic.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/measure/heat_memory.h"

namespace attnscope::measure {

/// Sums over all pools of one device, as the allocator reports them.
struct CudaAllocatorStatistics {
  std::int64_t requested = 0, requested_peak = 0;  // as asked for
  std::int64_t reserved = 0, reserved_peak = 0;    // taken from the driver
  std::int64_t reserved_ever = 0;                  // the same, without what was given back
  std::int64_t active = 0;  // the part of `reserved` that is in use, rounded to blocks
};

[[nodiscard]] HeatMemory::Counters counters_of(const CudaAllocatorStatistics& statistics);

/// The largest request that fits when cached blocks are given back: what the driver has free, and
/// the cached, less a margin for contexts, modules and fragments; within `limit` of all that is
/// reserved.
[[nodiscard]] std::int64_t free_for_requests(const CudaAllocatorStatistics& statistics,
                                             std::int64_t driver_free, std::int64_t driver_total,
                                             std::optional<std::int64_t> limit);

/// LibTorch's paragraph about memory that ran out, up to how much was asked for and how much was
/// free.
[[nodiscard]] std::string asked_and_free(std::string_view libtorch_words);

/// The time between two events less that between two with nothing in between; at least half of it,
/// for a pair takes longer now and then.
[[nodiscard]] double without_empty_pair(double between_ns, double empty_ns);

}  // namespace attnscope::measure
