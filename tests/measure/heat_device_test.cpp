// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_device.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/machine.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

std::uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.bytes().data());
}

TEST(BlockCache, CountsRequestedBytesBeforeRounding) {
  BlockCache memory;
  const Buffer empty(memory, 0);
  EXPECT_TRUE(empty.bytes().empty());
  EXPECT_EQ(memory.counters().reserved, 0);
  const Buffer small(memory, 1000);
  const Buffer large(memory, 3 * mib + 1);
  EXPECT_EQ(memory.counters().requested, 1000 + 3 * mib + 1);
  EXPECT_EQ(memory.counters().reserved, 1024 + 4 * mib);
}

TEST(BlockCache, PeakIsTheLargestSumOfLiveBlocksSinceTheReset) {
  BlockCache memory;
  { const Buffer first(memory, 4000); }
  { const Buffer second(memory, 6000); }
  EXPECT_EQ(memory.counters().requested, 0);
  EXPECT_EQ(memory.counters().requested_peak, 6000);
  memory.reset_peaks();
  EXPECT_EQ(memory.counters().requested_peak, 0);
}

TEST(BlockCache, ReusesAReleasedBlockUnlessItIsMuchLarger) {
  BlockCache memory;
  std::uintptr_t before = 0;
  {
    const Buffer first(memory, 64 * mib);
    before = address(first);
  }
  const std::int64_t fresh = memory.counters().fresh;
  {
    const Buffer second(memory, 64 * mib - 100);
    EXPECT_EQ(address(second), before);
    EXPECT_EQ(memory.counters().fresh, fresh);
  }
  const Buffer small(memory, 4 * mib);
  EXPECT_EQ(memory.counters().reserved, 68 * mib);
}

TEST(BlockCache, EmptyCacheReleasesUnusedBlocksOrAllButTheLargest) {
  BlockCache memory;
  const Buffer kept(memory, 2 * mib);
  { const Buffer small(memory, 1000), medium(memory, 8 * mib), large(memory, 64 * mib); }
  memory.empty_cache_of_movable();
  EXPECT_EQ(memory.counters().cached, 64 * mib);
  EXPECT_EQ(memory.counters().reserved, 66 * mib);
  memory.empty_cache();
  EXPECT_EQ(memory.counters().cached, 0);
  EXPECT_EQ(memory.counters().reserved, 2 * mib);
}

TEST(BlockCache, AlignsSmallBlocksToCacheLinesAndLargeOnesToHugePages) {
  BlockCache memory;
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{65}, mib, 2 * mib - 1})
    EXPECT_EQ(address(Buffer(memory, bytes)) % 64, 0U) << bytes;
  for (const std::int64_t bytes : {2 * mib, 7 * mib + 3}) {
    const Buffer large(memory, bytes);
    EXPECT_EQ(address(large) % (2 * mib), 0U) << bytes;
    std::memset(large.bytes().data(), 1, large.bytes().size());
  }
}

TEST(BlockCache, RequestAboveTheLimitThrowsWithRequestedAndFreeBytes) {
  BlockCache memory;
  memory.set_limit(16 * mib);
  const Buffer held(memory, 4 * mib);
  try {
    const Buffer refused(memory, 13 * mib);
    FAIL() << "13 MiB were served from 12";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.requested_bytes(), 13 * mib);
    EXPECT_EQ(error.free_bytes(), 12 * mib);
  }
  EXPECT_EQ(memory.counters().requested, 4 * mib);
}

TEST(BlockCache, ReleasesCachedBlocksWhenTheLimitIsReached) {
  BlockCache memory;
  memory.set_limit(16 * mib);
  { const Buffer cached(memory, 12 * mib); }
  const Buffer served(memory, 6 * mib);
  EXPECT_EQ(memory.counters().reserved, 6 * mib);
}

TEST(BlockCache, RefusesMoreThanTheMachineHasBeforeMappingIt) {
  BlockCache memory;
  const std::int64_t too_much = total_memory_bytes() + mib;
  EXPECT_THROW(Buffer(memory, too_much), OutOfMemory);
  EXPECT_THROW(static_cast<void>(memory.allocate(SIZE_MAX)), OutOfMemory);
  EXPECT_EQ(memory.counters().fresh, 0);
}

TEST(BlockCache, ProvidesTheBlocksOfAnEarlierCall) {
  BlockCache memory;
  std::optional<Buffer> kept;
  const auto call = [&] {
    const Buffer first(memory, 5 * mib);
    const Buffer second(memory, 5 * mib);
    const Buffer small(memory, 700);
    if (!kept) kept.emplace(memory, 8 * mib);  // kept by the first call, and not needed again
  };
  call();
  const std::vector<std::int64_t> needed = memory.cached_blocks();
  EXPECT_EQ(needed, (std::vector<std::int64_t>{1024, 6 * mib, 6 * mib}));
  memory.empty_cache();
  memory.provide(needed);
  EXPECT_EQ(memory.counters().requested, 8 * mib);
  EXPECT_EQ(memory.counters().cached, 12 * mib + 1024);
  const std::int64_t fresh = memory.counters().fresh;
  memory.provide(needed);  // all of them are cached already
  call();
  EXPECT_EQ(memory.counters().fresh, fresh);
}

TEST(BlockCache, TouchesProvidedBlocksIfAllOfThemFit) {
  BlockCache memory;
  const std::int64_t before = resident_bytes();
  memory.provide(std::vector{64 * mib});
  EXPECT_GE(resident_bytes() - before, 60 * mib);
  BlockCache limited;
  limited.set_limit(16 * mib);
  limited.provide(std::vector{10 * mib, 10 * mib});
  EXPECT_EQ(limited.counters().fresh, 0);
}

TEST(BlockCache, BlocksThatAreSetAsideAreNotUsed) {
  BlockCache memory;
  std::uintptr_t before = 0;
  {
    const Buffer large(memory, 64 * mib);
    before = address(large);
  }
  {
    const EmptyCache alone(memory);
    EXPECT_EQ(memory.counters().reserved, 0);
    const Buffer own(memory, 64 * mib);
    EXPECT_NE(address(own), before);
    EXPECT_EQ(memory.counters().reserved, 64 * mib);
  }
  EXPECT_EQ(memory.counters().cached, 2 * 64 * mib);
  EXPECT_EQ(memory.counters().reserved, 2 * 64 * mib);
  memory.empty_cache();
  EXPECT_EQ(memory.counters().reserved, 0);
}

TEST(BlockCache, BlocksThatAreSetAsideAreReleasedWhenTheirMemoryIsNeeded) {
  BlockCache memory;
  memory.set_limit(256 * mib);
  { const Buffer large(memory, 100 * mib); }
  {
    const EmptyCache alone(memory);
    EXPECT_EQ(memory.free_bytes(), 256 * mib);
    const Buffer nearly_all(memory, 200 * mib);
    EXPECT_EQ(memory.counters().reserved, 200 * mib);
  }
  EXPECT_EQ(memory.counters().reserved, 200 * mib);
  EXPECT_EQ(memory.counters().cached, 200 * mib);
}

TEST(Buffer, ReleasesAMovedBlockOnce) {
  BlockCache memory;
  Buffer first(memory, 100);
  Buffer second = std::move(first);
  first = Buffer(memory, 200);
  EXPECT_EQ(memory.counters().requested, 300);
  second = Buffer();
  EXPECT_EQ(memory.counters().requested, 200);
}

TEST(ProcessMemory, CountsTensorsOfLibTorchAndReusesTheirMemory) {
  BlockCache& memory = process_memory();
  const std::int64_t before = memory.counters().requested;
  at::Tensor tensor = at::empty({1000, 3});
  EXPECT_EQ(memory.counters().requested - before, 12000);
  tensor.reset();
  EXPECT_EQ(memory.counters().requested, before);
  const at::Tensor a = at::ones({256, 256});
  static_cast<void>(at::matmul(a, a));
  const std::int64_t fresh = memory.counters().fresh;
  const at::Tensor product = at::matmul(a, a);
  EXPECT_EQ(memory.counters().fresh, fresh);
  EXPECT_EQ(product.data_ptr<float>()[0], 256.0F);
}

TEST(ProcessMemory, RefusalIsThrownThroughLibTorch) {
  BlockCache& memory = process_memory();
  memory.set_limit(memory.counters().reserved + 32 * mib);
  EXPECT_THROW(at::empty({16 << 20}), OutOfMemory);
  memory.set_limit(std::nullopt);
  EXPECT_EQ(at::empty({16 << 20}).numel(), 16 << 20);
}

std::vector<std::byte> counting_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

TEST(FlushCaches, KeepsWrittenBytes) {
#ifdef __x86_64__
  EXPECT_TRUE(can_flush_caches());
#endif
  flush_from_caches({});
  // From one byte to more than a part of each of several threads, at any alignment.
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{1'000'001}}) {
    std::vector<std::byte> bytes = counting_bytes(count);
    for (const std::size_t lead : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
      flush_from_caches(std::span(bytes).subspan(std::min(lead, count)));
    }
    EXPECT_EQ(bytes, counting_bytes(count));
  }
}

TEST(FlushCaches, KeepsBytesAndCountersOfABlockCache) {
  BlockCache memory;
  const Buffer small(memory, 100);
  const Buffer large(memory, 5 * mib);
  { const Buffer cached(memory, 3 * mib); }
  const std::vector<std::byte> expected = counting_bytes(large.bytes().size());
  std::ranges::copy(expected, large.bytes().begin());
  const BlockCache::Counters before = memory.counters();
  memory.flush_from_caches();
  EXPECT_TRUE(std::ranges::equal(large.bytes(), expected));
  const BlockCache::Counters after = memory.counters();
  EXPECT_EQ(after.requested, before.requested);
  EXPECT_EQ(after.requested_peak, before.requested_peak);
  EXPECT_EQ(after.reserved, before.reserved);
  EXPECT_EQ(after.cached, before.cached);
  EXPECT_EQ(after.fresh, before.fresh);
}

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
