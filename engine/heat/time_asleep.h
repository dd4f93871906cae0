#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long this machine has been suspended since it was started. What was being timed over a
// suspend is measured again: the steady clock stood still, but caches, clocks and temperature are
// those of another machine afterwards.

#include <chrono>

namespace attnscope {

/// CLOCK_BOOTTIME, which counts a suspend, less CLOCK_MONOTONIC, which does not.
[[nodiscard]] std::chrono::nanoseconds time_asleep();

/// Less than any suspend takes, far more than the two clocks are read apart.
inline constexpr std::chrono::milliseconds least_suspend{50};

}  // namespace attnscope
