// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

/// Memory of a device that a fault may have made unusable.
class DeviceMemory final : public HeatMemory {
 public:
  void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* data) noexcept override { std::free(data); }
  void empty_cache() noexcept override { ++emptied; }
  void flush_from_caches() override {}
  void reset_peaks() override {}
  Counters counters() const override { return {}; }
  void set_limit(std::optional<std::int64_t>) override {}
  std::int64_t free_bytes() const override { return 0; }
  std::optional<std::string> lost() override { return reason; }

  std::optional<std::string> reason;
  int emptied = 0;
};

void fail_in_two_lines() {
  throw std::runtime_error("an illegal memory access\nsome advice");
}

TEST(Guarded, FailureOnAWorkingDeviceEndsOnlyTheContender) {
  DeviceMemory memory;
  const auto failure = guarded(memory, fail_in_two_lines);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status, CellStatus::crashed);
  EXPECT_EQ(memory.emptied, 1);
  memory.reason = "not read after a success";
  EXPECT_FALSE(guarded(memory, [] {}).has_value());
}

TEST(Guarded, FailureOnALostDeviceIsThrownInOneLineThroughEveryGuard) {
  DeviceMemory memory;
  memory.reason = "unspecified launch failure";
  try {
    static_cast<void>(
        guarded(memory, [&] { static_cast<void>(guarded(memory, fail_in_two_lines)); }));
    FAIL() << "no exception";
  } catch (const cuda::DeviceLost& lost) {
    const std::string message = lost.what();
    EXPECT_THAT(message, HasSubstr("an illegal memory access; the device is lost"));
    EXPECT_THAT(message, HasSubstr("unspecified launch failure"));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

constexpr std::int64_t gib = std::int64_t{1} << 30;

TEST(CudaStatistics, CachedBytesAreReservedButNotInUse) {
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

TEST(CudaStatistics, FreeBytesAreThoseOfDriverAndCacheWithinTheLimit) {
  const CudaAllocatorStatistics statistics{.reserved = 3 * gib, .active = gib};
  const std::int64_t free = free_for_requests(statistics, 10 * gib, 40 * gib, std::nullopt);
  EXPECT_LT(free, 12 * gib) << "no margin";
  EXPECT_GE(free, 11 * gib);
  EXPECT_EQ(free_for_requests(statistics, 10 * gib, 40 * gib, 4 * gib), 3 * gib);
  EXPECT_EQ(free_for_requests(statistics, 10 * gib, 40 * gib, gib / 2), 0);
  EXPECT_EQ(free_for_requests({}, gib / 1024, 40 * gib, std::nullopt), 0);
}

TEST(CudaStatistics, LibTorchMessageIsCutAfterTheFreeBytes) {
  const std::string part =
      "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of "
      "which 1.25 GiB is free.";
  EXPECT_EQ(requested_and_free(part + " Of the allocated memory 70.00 GiB is allocated by PyTorch"),
            part);
  EXPECT_EQ(requested_and_free("other words"), "other words");
}

TEST(CudaStatistics, TimeOfAnEmptyPairOfEventsIsSubtractedUpToHalfTheTime) {
  EXPECT_DOUBLE_EQ(without_empty_pair(13'000, 1'500), 11'500);
  EXPECT_DOUBLE_EQ(without_empty_pair(1'600, 1'500), 800);
}

}  // namespace
}  // namespace attnscope::measure
