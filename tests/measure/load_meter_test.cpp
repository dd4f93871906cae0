// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/load_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace attnscope::measure {
namespace {

constexpr const char* stat =
    "cpu  900 0 900 0 0 0 0 0 0 0\n"
    "cpu0 100 20 30 5000 400 1 2 3 50 0\n"
    "cpu1 200 0 0 5000 0 0 0 0 0 0\n"
    "cpu10 7 0 0 5000 0 0 0 0 0 0\n"
    "intr 12345\n";

double jiffies(double count) {
  return count / static_cast<double>(sysconf(_SC_CLK_TCK));
}

TEST(BusySeconds, LeavesOutIdleWaitingAndTheSumLine) {
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {0}), jiffies(100 + 20 + 30 + 1 + 2 + 3));
}

TEST(BusySeconds, CountsOnlyTheGivenCores) {
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {1, 10}), jiffies(207));
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {}), 0);
  EXPECT_DOUBLE_EQ(busy_seconds("", {0}), 0);
}

TEST(LoadMeter, ShortWindowStaysOpen_AndLoadIsNeverNegative) {
  LoadMeter meter;
  EXPECT_LT(LoadMeter().try_close(), 0);
  EXPECT_GE(meter.close(), 0);
}

TEST(AllowedCores, HoldAtLeastOne) {
  EXPECT_FALSE(allowed_cores().empty());
}

}  // namespace
}  // namespace attnscope::measure
