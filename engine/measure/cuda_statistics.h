#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Converts statistics of LibTorch's CUDA allocator to those of HeatMemory, and corrects the time
// between two events. Plain arithmetic without CUDA calls.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/measure/heat_memory.h"

namespace attnscope::measure {

/// Sums over all pools of one device, as the allocator reports them.
struct CudaAllocatorStatistics {
  std::int64_t requested = 0, requested_peak = 0;  // requested bytes, before rounding
  std::int64_t reserved = 0, reserved_peak = 0;    // allocated from the driver
  std::int64_t reserved_ever = 0;                  // all driver allocations, freed ones included
  std::int64_t active = 0;  // the part of `reserved` that is in use, rounded to blocks
};

[[nodiscard]] HeatMemory::Counters counters_of(const CudaAllocatorStatistics& statistics);

/// The largest request that can succeed once cached blocks are freed: the driver's free memory plus
/// the cached blocks, less a margin for contexts, modules and fragmentation. With `limit`, all
/// reserved memory stays within it.
[[nodiscard]] std::int64_t free_for_requests(const CudaAllocatorStatistics& statistics,
                                             std::int64_t driver_free, std::int64_t driver_total,
                                             std::optional<std::int64_t> limit);

/// LibTorch's out-of-memory message, up to the requested and the free bytes.
[[nodiscard]] std::string requested_and_free(std::string_view libtorch_words);

/// The time between two events minus that of an empty pair, but at least half of the measured time,
/// because an empty pair occasionally takes longer.
[[nodiscard]] double without_empty_pair(double between_ns, double empty_ns);

}  // namespace attnscope::measure
