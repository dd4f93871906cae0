// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/block_cache.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/measure/machine_memory.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.bytes().data());
}

TEST(BlockCache, CountsWhatWasAskedFor_NotWhatWasRounded) {
  BlockCache memory;
  const Buffer one(memory, 1000);
  const Buffer two(memory, 3 * mib + 1);
  EXPECT_EQ(memory.counters().requested, 1000 + 3 * mib + 1);
  EXPECT_EQ(memory.counters().reserved, 1024 + 4 * mib);
}

TEST(BlockCache, PeakStaysAfterRelease_UntilReset) {
  BlockCache memory;
  { const Buffer brief(memory, 5000); }
  EXPECT_EQ(memory.counters().requested, 0);
  EXPECT_EQ(memory.counters().requested_peak, 5000);
  memory.reset_peaks();
  EXPECT_EQ(memory.counters().requested_peak, 0);
}

TEST(BlockCache, PeakIsTheWorstMoment_NotTheSum) {
  BlockCache memory;
  { const Buffer first(memory, 4000); }
  { const Buffer second(memory, 6000); }
  EXPECT_EQ(memory.counters().requested_peak, 6000);
}

TEST(BlockCache, ReleasedBlockIsHandedOutAgain_WithoutTheSystem) {
  BlockCache memory;
  std::uintptr_t before = 0;
  {
    const Buffer first(memory, 4 * mib);
    before = address(first);
  }
  const std::int64_t fresh = memory.counters().fresh;
  const Buffer second(memory, 4 * mib - 100);
  EXPECT_EQ(address(second), before);
  EXPECT_EQ(memory.counters().fresh, fresh);
}

TEST(BlockCache, MuchLargerBlockIsNotWastedOnASmallRequest) {
  BlockCache memory;
  { const Buffer large(memory, 64 * mib); }
  const Buffer small(memory, 4 * mib);
  EXPECT_EQ(memory.counters().reserved, 68 * mib);
}

TEST(BlockCache, EmptyCache_GivesEverythingUnusedBack) {
  BlockCache memory;
  const Buffer kept(memory, 2 * mib);
  { const Buffer dropped(memory, 8 * mib); }
  memory.empty_cache();
  EXPECT_EQ(memory.counters().reserved, 2 * mib);
  EXPECT_EQ(memory.counters().cached, 0);
}

TEST(BlockCache, SmallBlocksStartOnCacheLines_LargeOnesOnHugePages) {
  BlockCache memory;
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{65}, mib, 2 * mib - 1}) {
    const Buffer small(memory, bytes);
    EXPECT_EQ(address(small) % 64, 0U) << bytes;
  }
  for (const std::int64_t bytes : {2 * mib, 7 * mib + 3}) {
    const Buffer large(memory, bytes);
    EXPECT_EQ(address(large) % (2 * mib), 0U) << bytes;
    std::memset(large.bytes().data(), 1, large.bytes().size());
  }
}

TEST(BlockCache, ZeroBytes_NeedNoBlock) {
  BlockCache memory;
  const Buffer empty(memory, 0);
  EXPECT_TRUE(empty.bytes().empty());
  EXPECT_EQ(memory.counters().reserved, 0);
}

TEST(BlockCache, RequestAboveTheLimit_ThrowsWithBytesAskedAndFree) {
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

TEST(BlockCache, CachedBlocksMakeRoomUnderALimit) {
  BlockCache memory;
  memory.set_limit(16 * mib);
  { const Buffer cached(memory, 12 * mib); }
  const Buffer served(memory, 6 * mib);
  EXPECT_EQ(memory.counters().reserved, 6 * mib);
}

TEST(BlockCache, MoreThanTheMachineHas_IsRefusedBeforeAnythingIsMapped) {
  BlockCache memory;
  const std::int64_t too_much = total_memory_bytes() + mib;
  EXPECT_THROW(Buffer(memory, too_much), OutOfMemory);
  EXPECT_THROW(static_cast<void>(memory.allocate(SIZE_MAX)), OutOfMemory);
  EXPECT_EQ(memory.counters().fresh, 0);
}

TEST(BlockCache, WhatACallNeeded_IsProvidedForTheNext) {
  BlockCache memory;
  std::optional<Buffer> kept;
  const auto call = [&] {
    const Buffer one(memory, 5 * mib);
    const Buffer two(memory, 5 * mib);
    const Buffer small(memory, 700);
    if (!kept) kept.emplace(memory, 8 * mib);  // what a first call keeps no other needs
  };
  call();
  const std::vector<std::int64_t> needed = memory.cached_blocks();
  EXPECT_EQ(needed, (std::vector<std::int64_t>{1024, 6 * mib, 6 * mib}));
  memory.empty_cache();
  memory.provide(needed);
  EXPECT_EQ(memory.counters().requested, 8 * mib);
  EXPECT_EQ(memory.counters().cached, 12 * mib + 1024);
  const std::int64_t fresh = memory.counters().fresh;
  memory.provide(needed);  // it is all there
  call();
  EXPECT_EQ(memory.counters().fresh, fresh);
}

TEST(BlockCache, ProvidedMemoryIsTouched) {
  BlockCache memory;
  const std::vector<std::int64_t> blocks = {64 * mib};
  const std::int64_t before = resident_bytes();
  memory.provide(blocks);
  EXPECT_GE(resident_bytes() - before, 60 * mib);
}

TEST(BlockCache, MoreThanFits_IsNotProvided) {
  BlockCache memory;
  memory.set_limit(16 * mib);
  const std::vector<std::int64_t> blocks = {10 * mib, 10 * mib};
  memory.provide(blocks);
  EXPECT_EQ(memory.counters().fresh, 0);
}

TEST(BlockCache, OfMovableBlocksTheCacheIsEmptied_TheLargestStay) {
  BlockCache memory;
  { const Buffer small(memory, 1000), medium(memory, 8 * mib), large(memory, 64 * mib); }
  memory.empty_cache_of_movable();
  EXPECT_EQ(memory.counters().cached, 64 * mib);
  EXPECT_EQ(memory.counters().reserved, 64 * mib);
}

TEST(BlockCache, WhatWasSetAside_ServesNobodyUntilItIsBack) {
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

TEST(BlockCache, WhatWasSetAside_GoesWhenItsRoomIsNeeded) {
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

TEST(Buffer, MovedFrom_ReleasesOnce) {
  BlockCache memory;
  Buffer first(memory, 100);
  Buffer second = std::move(first);
  first = Buffer(memory, 200);
  EXPECT_EQ(memory.counters().requested, 300);
  second = Buffer();
  EXPECT_EQ(memory.counters().requested, 200);
}

TEST(CountingAllocator, LibTorchsTensorsAreCounted) {
  BlockCache& memory = process_memory();
  const std::int64_t before = memory.counters().requested;
  at::Tensor tensor = at::empty({1000, 3});
  EXPECT_EQ(memory.counters().requested - before, 12000);
  tensor.reset();
  EXPECT_EQ(memory.counters().requested, before);
}

TEST(CountingAllocator, RepeatedOperationsNeedNoFreshMemory) {
  BlockCache& memory = process_memory();
  const at::Tensor a = at::ones({256, 256});
  static_cast<void>(at::matmul(a, a));
  const std::int64_t fresh = memory.counters().fresh;
  const at::Tensor product = at::matmul(a, a);
  EXPECT_EQ(memory.counters().fresh, fresh);
  EXPECT_EQ(product.data_ptr<float>()[0], 256.0F);
}

TEST(CountingAllocator, RefusalReachesTheCallerOfLibTorch) {
  BlockCache& memory = process_memory();
  memory.set_limit(memory.counters().reserved + (std::int64_t{32} << 20));
  EXPECT_THROW(at::empty({16 << 20}), OutOfMemory);
  memory.set_limit(std::nullopt);
  EXPECT_EQ(at::empty({16 << 20}).numel(), 16 << 20);
}

}  // namespace
}  // namespace attnscope::measure
