#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long this machine has been suspended since boot. A measurement during which the machine was
// suspended is repeated: the steady clock does not count the suspend, but caches, clock rates and
// temperature differ afterwards.

#include <chrono>
#include <ctime>

namespace attnscope {

/// CLOCK_BOOTTIME, which counts a suspend, less CLOCK_MONOTONIC, which does not.
[[nodiscard]] inline std::chrono::nanoseconds time_asleep() {
  const auto read = [](clockid_t clock) -> std::chrono::nanoseconds {
    timespec now{};
    clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  // In this order, a thread preempted between the two readings makes the difference smaller, which
  // is never taken for a suspend.
  const auto boot = read(CLOCK_BOOTTIME);
  const auto steady = read(CLOCK_MONOTONIC);
  return boot - steady;
}

/// Shorter than any suspend, and much longer than the time between the readings of the two clocks.
inline constexpr std::chrono::milliseconds least_suspend{50};

}  // namespace attnscope
