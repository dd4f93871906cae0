// SPDX-License-Identifier: Apache-2.0
//
// Every work list computes each allowed pair once and writes each row and key once. Patterns are
// compared with the oracle, other plans with their own intervals. The number of units is as
// expected.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/cuda_work/list_checks.h"
#include "tests/kernels/plans.h"

namespace attnscope::testing {
namespace {

using cuda::WorkList;
using cuda::WorkUnit;

/// The patterns, windows and layouts that the kernels are tested with.
TEST(WorkLists, OfTheCasesOfTheKernels_AreComputedOnce) {
  int checked = 0;
  for (const auto& list : {cases_of_windows(DType::float32), cases_of_lengths(DType::float32),
                           cases_of_layouts(DType::float32)}) {
    for (const AttentionCase& problem : list) {
      ++checked;
      ASSERT_TRUE(cuts_well(problem.plan(), problem.keys())) << problem.text();
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(WorkLists, HandMadePlans_AreComputedOnce) {
  for (const HandMadePlan& made : hand_made_plans()) {
    EXPECT_TRUE(cuts_well(made.plan, keys_from_plan(made.plan))) << made.name;
  }
}

class RandomLists : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(WorkLists, RandomLists, ::testing::Range(0U, 300U, 50U));

TEST_P(RandomLists, EveryAllowedPair_IsComputedOnce) {
  for (unsigned seed = GetParam(); seed < GetParam() + 50; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    ASSERT_TRUE(cuts_well(plan, keys_from_plan(plan))) << "seed " << seed << "\n" << text_of(plan);
  }
}

/// Sparse items of every length around strips and slots, with every window.
class SmallItems : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(WorkLists, SmallItems, ::testing::Values(0, 1, 3, 16, 17));

TEST_P(SmallItems, EveryLengthAndWindow_IsComputedOnce) {
  const AttentionPattern pattern = *find_pattern("sparse");
  for (std::int64_t document = 0; document <= 36; ++document) {
    const SequenceLayout layout =
        SequenceLayout::uniform(1, {.query = GetParam(), .documents = {document}});
    for (std::int64_t window = 0; window <= document; ++window) {
      const AttentionPlan plan = *compile_plan(pattern, Window::of(window), layout, 1);
      ASSERT_TRUE(cuts_well(plan, keys_from_oracle("sparse", Window::of(window), layout)))
          << document << " tokens, window " << window;
    }
  }
}

TEST(WorkLists, BlocksThatDifferFromHeadToHead_AreComputedOnce) {
  for (const std::int64_t block : {5, 16, 64}) {
    const SequenceLayout layout =
        SequenceLayout::uniform(1, {.query = 4, .documents = {9 * block - 5}});
    const AttentionPlan plan = compile_blocks({.length = block, .random = 1}, layout, 3);
    EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan))) << "blocks of " << block;
  }
}

TEST(WorkLists, BigBird_IsComputedOnce) {
  const auto layout =
      *SequenceLayout::make({{.query = 11, .documents = {900}}, {.query = 5, .documents = {200}}});
  const AttentionPlan plan = *compile_plan(*find_pattern("bigbird"), std::nullopt, layout, 3);
  EXPECT_TRUE(cuts_well(plan, keys_from_oracle("bigbird", std::nullopt, layout)));
}

TEST(WorkLists, ManyNarrowTasksOfOneItem_AreComputedOnce) {
  AttentionPlan plan{.tokens = 700, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {0, 700}}, {.keys = {0, 650}}};
  for (std::int64_t row = 0; row < 40; ++row) {
    plan.segments.push_back({.keys = {row, 700 - row}});
    plan.tasks.push_back(task_of({row * 3, row * 3 + 3}, {0, 1}, 2 + row, 1));
  }
  plan.tasks.push_back(task_of({120, 700}, {0, 1}, 0, 1));
  EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan)));
}

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

TEST(TinyItems, WithASharedQuery_ShareUnits) {
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

/// Sentence starts divide the document into runs of 29 tokens.
TEST(SentenceStarts, DoNotLeaveUnitsPartlyEmpty) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 11, .documents = {3000}});
  const WorkList list = cut(plan_of("qds", 4, layout));
  EXPECT_LE(list.row_units, 2900 / 16 + 1 + 112 / 16 + 2);
  EXPECT_LE(key_units(list).size(), static_cast<std::size_t>(2900 / 16 + 1 + 112 / 16 + 2));
}

TEST(RowsWithoutKeys, AreUnitsWithoutSegments) {
  const WorkList list = cut(plan_of_one_task(100, 2, {}));
  EXPECT_EQ(list.row_units, 7);
  EXPECT_EQ(list.units.size(), 14U);
  for (const WorkUnit& unit : list.units) EXPECT_EQ(unit.segments, 0);
  EXPECT_TRUE(cut({.tokens = 0, .heads = 4, .tasks{}, .segments{}, .indices{}}).units.empty());
}

TEST(TooManyTokens, AreRefusedWithTheirNumber) {
  const AttentionPlan plan{
      .tokens = std::int64_t{3'000'000'000}, .heads = 1, .tasks{}, .segments{}, .indices{}};
  const Result<WorkList> list = cuda::cut_into_units(plan, Passes::forward);
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, ::testing::HasSubstr("3000000000"));
  EXPECT_THAT(list.error().message, ::testing::HasSubstr("smaller"));
}

class MillionTokens : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shapes, MillionTokens, ::testing::Values("sparse", "longformer", "qds"));

TEST_P(MillionTokens, HaveListsOfProportionalSize) {
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

TEST(WorkLists, AreDeterministic) {
  const AttentionPlan plan = plan_of("qds", 4, passages(3));
  EXPECT_EQ(cuda::list_bytes(cut(plan)), cuda::list_bytes(cut(plan)));
}

}  // namespace
}  // namespace attnscope::testing
