// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/flush_caches.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "engine/measure/block_cache.h"

namespace attnscope::measure {
namespace {

std::vector<std::byte> counting_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

TEST(FlushCaches, X86_CanFlush) {
#ifdef __x86_64__
  EXPECT_TRUE(can_flush_caches());
#endif
}

TEST(FlushCaches, NoBytes_AreNoFault) {
  flush_from_caches({});
}

TEST(FlushCaches, WhatWasWritten_IsThereAfterwards) {
  // From one byte to more than a part of each of several threads, at addresses of any kind.
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{1'000'001}}) {
    std::vector<std::byte> bytes = counting_bytes(count);
    for (const std::size_t lead : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
      flush_from_caches(std::span(bytes).subspan(std::min(lead, count)));
    }
    EXPECT_EQ(bytes, counting_bytes(count));
  }
}

TEST(FlushCaches, BlocksOfACache_KeepTheirBytesAndTheirCounters) {
  BlockCache memory;
  const Buffer small(memory, 100);
  const Buffer large(memory, std::int64_t{5} << 20);
  { const Buffer cached(memory, std::int64_t{3} << 20); }
  std::iota(reinterpret_cast<unsigned char*>(large.bytes().data()),
            reinterpret_cast<unsigned char*>(large.bytes().data() + large.bytes().size()),
            static_cast<unsigned char>(0));
  const BlockCache::Counters before = memory.counters();
  memory.flush_from_caches();
  for (std::size_t i = 0; i < large.bytes().size(); ++i) {
    ASSERT_EQ(large.bytes()[i], static_cast<std::byte>(i)) << i;
  }
  const BlockCache::Counters after = memory.counters();
  EXPECT_EQ(after.requested, before.requested);
  EXPECT_EQ(after.requested_peak, before.requested_peak);
  EXPECT_EQ(after.reserved, before.reserved);
  EXPECT_EQ(after.cached, before.cached);
  EXPECT_EQ(after.fresh, before.fresh);
}

}  // namespace
}  // namespace attnscope::measure
