// SPDX-License-Identifier: Apache-2.0
//
// How work lists look: how many units, how they grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "tests/kernels/cuda_work/list_checks.h"

namespace attnscope::testing {
namespace {

using cuda::WorkList;
using cuda::WorkUnit;

AttentionPlan plan_of(const std::string& pattern, std::int64_t window, const SequenceLayout& layout,
                      std::int32_t heads = 12) {
  return *compile_plan(*find_pattern(pattern), Window::of(window), layout, heads);
}

WorkList cut(const AttentionPlan& plan) {
  return *cuda::cut_into_units(plan, Passes::forward_backward);
}

SequenceLayout passages(std::int64_t count) {
  return SequenceLayout::uniform(count, {.query = 11, .documents = {162}});
}

TEST(SparsePassages, Units_GrowWithTheBatch) {
  const WorkList one = cut(plan_of("sparse", 4, passages(1)));
  EXPECT_EQ(one.heads_per_unit, 12);
  EXPECT_EQ(one.row_units, 1 + 1 + 11);  // [CLS], the query, the document
  const WorkList hundred = cut(plan_of("sparse", 4, passages(100)));
  EXPECT_EQ(hundred.row_units, 100 * one.row_units);
  EXPECT_EQ(hundred.units.size(), 100 * one.units.size());
}

TEST(TinyItems, ThatSeeASharedQueryAlone_FillUnitsTogether) {
  AttentionPlan plan{.tokens = 540, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {0, 40}}};
  for (std::int64_t item = 0; item < 100; ++item) {
    plan.tasks.push_back({.queries = {40 + 5 * item, 45 + 5 * item},
                          .heads = {0, 1},
                          .item = item,
                          .first_segment = 0,
                          .segment_count = 1});
  }
  plan.tasks.insert(plan.tasks.begin(),
                    {.queries = {0, 40}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1});
  EXPECT_EQ(cut(plan).row_units, (540 + 15) / 16);
  EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan)));
}

/// Sentence starts cut the document into runs of 29 tokens; its units are full all the same.
TEST(SentenceStarts, LeaveUnitsFull) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 11, .documents = {3000}});
  const WorkList list = cut(plan_of("qds", 4, layout));
  EXPECT_LE(list.row_units, 2900 / 16 + 1 + 112 / 16 + 2);
  EXPECT_LE(key_units(list).size(), static_cast<std::size_t>(2900 / 16 + 1 + 112 / 16 + 2));
}

TEST(RowsWithoutKeys, AreUnitsWithoutSegments) {
  AttentionPlan plan{.tokens = 100, .heads = 2, .tasks{}, .segments{}, .indices{}};
  plan.tasks = {{.queries = {0, 100}, .heads = {0, 2}, .first_segment = 0, .segment_count = 0}};
  const WorkList list = cut(plan);
  EXPECT_EQ(list.row_units, 7);
  EXPECT_EQ(list.units.size(), 14U);
  for (const WorkUnit& unit : list.units) EXPECT_EQ(unit.segments, 0);
}

TEST(AnEmptyPlan, HasNoUnits) {
  const AttentionPlan plan{.tokens = 0, .heads = 4, .tasks{}, .segments{}, .indices{}};
  EXPECT_TRUE(cut(plan).units.empty());
}

TEST(TooManyTokens, AreDeclinedWithTheirNumber) {
  const AttentionPlan plan{
      .tokens = std::int64_t{3'000'000'000}, .heads = 1, .tasks{}, .segments{}, .indices{}};
  const Result<WorkList> list = cuda::cut_into_units(plan, Passes::forward);
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, ::testing::HasSubstr("3000000000"));
  EXPECT_THAT(list.error().message, ::testing::HasSubstr("smaller"));
}

class MillionTokens : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shapes, MillionTokens, ::testing::Values("sparse", "longformer", "qds"));

TEST_P(MillionTokens, TakeListsThatGrowWithThem) {
  const auto list_of = [](std::int64_t documents) {
    return cut(plan_of(GetParam(), 4,
                       SequenceLayout::uniform(documents, {.query = 11, .documents = {4084}})));
  };
  const WorkList few = list_of(125);
  const WorkList many = list_of(250);
  EXPECT_GT(many.tokens, 1'000'000);
  EXPECT_EQ(many.units.size(), 2 * few.units.size());
  EXPECT_EQ(many.segments.size(), 2 * few.segments.size());
  EXPECT_LE(many.units.size(), 2U * 1'024'000 / 16 * 11 / 10);
  EXPECT_TRUE(is_within_bounds(many));
  EXPECT_TRUE(writes_all_once(many));
}

TEST(WorkLists, AreTheSameEveryTime) {
  const AttentionPlan plan = plan_of("qds", 4, passages(3));
  const WorkList first = cut(plan), second = cut(plan);
  ASSERT_EQ(first.units.size(), second.units.size());
  EXPECT_EQ(first.indices, second.indices);
  for (std::size_t i = 0; i < first.units.size(); ++i) {
    EXPECT_EQ(first.units[i].run.begin, second.units[i].run.begin);
    EXPECT_EQ(first.units[i].first_segment, second.units[i].first_segment);
  }
}

}  // namespace
}  // namespace attnscope::testing
