#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Cold caches on purpose: lines are put out of every cache of every core, and back to memory where
// they had changed. That is exact where sweeping a larger buffer is not: caches that keep what they
// expect to be used again keep a third of it through a sweep of one and a half times their size.
//
//   flush_from_caches(buffer.bytes());   // 50 GB/s on two cores: cheap beside the call it precedes

#include <cstddef>
#include <cstdint>
#include <span>

namespace attnscope::measure {

inline constexpr std::int64_t cache_line = 64;  // bytes

/// Whether this processor lets a process flush lines (x86-64 does).
[[nodiscard]] bool can_flush_caches();

/// With as many threads as the process measures with. Does nothing where it cannot be done.
void flush_from_caches(std::span<const std::byte> bytes);

}  // namespace attnscope::measure
