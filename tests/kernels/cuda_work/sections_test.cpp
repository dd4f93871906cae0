// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/kernels/plans.h"

namespace attnscope::cuda {
namespace {

/// A list with something in every section.
WorkList some_list() {
  for (const attnscope::testing::HandMadePlan& made : attnscope::testing::hand_made_plans()) {
    if (made.name == "12 long rows") {
      return *cut_into_units(made.plan, Passes::forward_backward);
    }
  }
  return {};
}

template <typename T>
void expect_same(const T* placed, const std::vector<T>& section) {
  EXPECT_EQ(std::memcmp(placed, section.data(), section.size() * sizeof(T)), 0);
}

TEST(DeviceList, EverySection_StandsWhereItsPointerPoints) {
  const WorkList list = some_list();
  ASSERT_FALSE(list.segments.empty());
  ASSERT_FALSE(list.indices.empty());
  const std::vector<std::byte> bytes = list_bytes(list);
  const DeviceList placed = device_list(list, bytes.data());
  const auto aligned = [&](const auto* section) {
    return (reinterpret_cast<const std::byte*>(section) - bytes.data()) % 256 == 0;
  };
  EXPECT_TRUE(aligned(placed.segments) && aligned(placed.indices));
  expect_same(placed.units, list.units);
  expect_same(placed.segments, list.segments);
  expect_same(placed.indices, list.indices);
}

TEST(DeviceList, AnEmptyList_TakesNoBytes) {
  EXPECT_THAT(list_bytes(WorkList{}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace attnscope::cuda
