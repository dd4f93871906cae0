// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/cuda_statistics.h"

#include <gtest/gtest.h>

namespace attnscope::measure {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

TEST(CudaStatistics, CachedIsWhatIsReservedAndNotInUse) {
  const HeatMemory::Counters counters = counters_of({.requested = 100,
                                                     .requested_peak = 700,
                                                     .reserved = 4096,
                                                     .reserved_peak = 8192,
                                                     .reserved_ever = 20480,
                                                     .active = 512});
  EXPECT_EQ(counters.requested, 100);
  EXPECT_EQ(counters.requested_peak, 700);
  EXPECT_EQ(counters.reserved, 4096);
  EXPECT_EQ(counters.reserved_peak, 8192);
  EXPECT_EQ(counters.cached, 4096 - 512);
  EXPECT_EQ(counters.fresh, 20480);
}

TEST(CudaStatistics, FreeIsTheDriversAndTheCached_LessAMargin) {
  const CudaAllocatorStatistics statistics{.reserved = 3 * gib, .active = gib};
  const std::int64_t free = free_for_requests(statistics, 10 * gib, 40 * gib, std::nullopt);
  EXPECT_LT(free, 12 * gib);
  EXPECT_GE(free, 11 * gib);
}

TEST(CudaStatistics, ALimitCountsWhatIsInUse) {
  const CudaAllocatorStatistics statistics{.reserved = 3 * gib, .active = gib};
  EXPECT_EQ(free_for_requests(statistics, 10 * gib, 40 * gib, 4 * gib), 3 * gib);
  EXPECT_EQ(free_for_requests(statistics, 10 * gib, 40 * gib, gib / 2), 0);
}

TEST(CudaStatistics, AFullDevice_HasNothingFreeRatherThanLess) {
  EXPECT_EQ(free_for_requests({}, gib / 1024, 40 * gib, std::nullopt), 0);
}

TEST(CudaStatistics, LibTorchsParagraphEndsWhereItHasSaidWhatWasAskedAndFree) {
  EXPECT_EQ(requested_and_free("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
                               "capacity of 79.10 GiB of which 1.25 GiB is free. Of the allocated "
                               "memory 70.00 GiB is allocated by PyTorch"),
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 "
            "GiB of which 1.25 GiB is free.");
  EXPECT_EQ(requested_and_free("other words"), "other words");
}

TEST(CudaEvents, WhatAnEmptyPairTakesIsNobodysTime_ButNoCallTakesNone) {
  EXPECT_DOUBLE_EQ(without_empty_pair(13'000, 1'500), 11'500);
  EXPECT_DOUBLE_EQ(without_empty_pair(1'600, 1'500), 800);
}

}  // namespace
}  // namespace attnscope::measure
