#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Flushes lines from all caches of all cores, with write-back of modified lines, for measurements
// with cold caches. This is exact, unlike a sweep over a larger buffer: adaptive replacement
// policies keep a third of the lines through a sweep of 1.5 times the cache size.
//
//   flush_from_caches(buffer.bytes());   // 50 GB/s on two cores: cheap compared with the call

#include <cstddef>
#include <cstdint>
#include <span>

namespace attnscope::measure {

inline constexpr std::int64_t cache_line = 64;  // bytes

/// Whether this processor lets a process flush cache lines (x86-64 does).
[[nodiscard]] bool can_flush_caches();

/// Uses as many threads as the process measures with. Does nothing where flushing is not supported.
void flush_from_caches(std::span<const std::byte> bytes);

}  // namespace attnscope::measure
