// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/counting_allocator.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace attnscope::measure {
namespace {

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
