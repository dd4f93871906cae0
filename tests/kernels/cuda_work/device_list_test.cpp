// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/kernels/hand_made_plans.h"

namespace attnscope::cuda {
namespace {

/// A list with something in every section.
WorkList some_list() {
  for (const attnscope::testing::HandMadePlan& made : attnscope::testing::hand_made_plans()) {
    if (made.name == "12 long rows") {
      return *cut_into_units(made.plan, 32, Passes::forward_backward);
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
  ASSERT_FALSE(list.strips.empty());
  ASSERT_FALSE(list.merges.empty());
  ASSERT_FALSE(list.skip_words.empty());
  ASSERT_FALSE(list.indices.empty());
  const std::vector<std::byte> bytes = list_bytes(list);
  const DeviceList placed = device_list(list, bytes.data());
  expect_same(placed.units, list.units);
  expect_same(placed.spans, list.spans);
  expect_same(placed.rules, list.rules);
  expect_same(placed.strips, list.strips);
  expect_same(placed.merges, list.merges);
  expect_same(placed.skip_words, list.skip_words);
  expect_same(placed.indices, list.indices);
}

TEST(DeviceList, Sections_AreAlignedAndDoNotOverlap) {
  const WorkList list = some_list();
  const ListOffsets at = list_offsets(list);
  const std::vector<std::int64_t> begins{at.units,  at.spans,      at.rules,   at.strips,
                                         at.merges, at.skip_words, at.indices, at.bytes};
  for (const std::int64_t begin : begins) EXPECT_EQ(begin % 256, 0);
  EXPECT_TRUE(std::ranges::is_sorted(begins));
  EXPECT_GE(at.bytes - at.indices, static_cast<std::int64_t>(list.indices.size() * 4));
  EXPECT_GE(at.spans - at.units, static_cast<std::int64_t>(list.units.size() * sizeof(WorkUnit)));
}

TEST(DeviceList, AnEmptyList_TakesNoBytes) {
  EXPECT_THAT(list_bytes(WorkList{}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace attnscope::cuda
