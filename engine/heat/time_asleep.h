#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long this machine has been suspended since it was started. What was being timed over a
// suspend is measured again: the steady clock stood still, but caches, clocks and temperature are
// those of another machine afterwards.

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
  // In this order a thread that is put aside between the two readings makes the difference smaller,
  // and never a suspend of it.
  const auto boot = read(CLOCK_BOOTTIME);
  const auto steady = read(CLOCK_MONOTONIC);
  return boot - steady;
}

/// Less than any suspend takes, far more than the two clocks are read apart.
inline constexpr std::chrono::milliseconds least_suspend{50};

}  // namespace attnscope
