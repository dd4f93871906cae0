// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/time_asleep.h"

#include <ctime>

namespace attnscope {
namespace {

std::chrono::nanoseconds read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::chrono::nanoseconds time_asleep() {
  // In this order a thread that is put aside between the two readings makes the difference smaller,
  // and never a suspend of it.
  const auto boot = read(CLOCK_BOOTTIME);
  const auto steady = read(CLOCK_MONOTONIC);
  return boot - steady;
}

}  // namespace attnscope
