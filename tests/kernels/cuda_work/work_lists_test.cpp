// SPDX-License-Identifier: Apache-2.0
//
// Every work list computes each allowed pair once and writes each row and key once: patterns
// against the oracle, other plans against their own intervals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/cuda_work/list_checks.h"
#include "tests/kernels/plans.h"

namespace attnscope::testing {
namespace {

/// The patterns, windows and layouts that the kernels are held against.
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

/// A block of rows sees itself, its neighbours, the first and the last block, and random ones that
/// differ from head to head (BigBird).
AttentionPlan blocks_with_random_ones(std::int64_t blocks, std::int64_t block, std::int32_t heads) {
  AttentionPlan plan{.tokens = blocks * block, .heads = heads, .tasks{}, .segments{}, .indices{}};
  std::mt19937 random(7);
  for (std::int64_t row = 0; row < blocks; ++row) {
    const bool is_global = row == 0 || row + 1 == blocks;
    for (std::int32_t head = 0; head < (is_global ? 1 : heads); ++head) {
      Task task{.queries = {row * block, (row + 1) * block},
                .heads = {head, is_global ? heads : head + 1},
                .item = 0,
                .first_segment = static_cast<std::int64_t>(plan.segments.size())};
      for (std::int64_t key = 0; key < blocks; ++key) {
        const bool near = std::abs(row - key) <= 1 || key == 0 || key + 1 == blocks;
        if (is_global || near || random() % 4 == 0) {
          plan.segments.push_back({.keys = {key * block, (key + 1) * block}});
        }
      }
      task.segment_count = static_cast<std::int64_t>(plan.segments.size()) - task.first_segment;
      plan.tasks.push_back(task);
    }
  }
  return plan;
}

TEST(WorkLists, BlocksThatDifferFromHeadToHead_AreComputedOnce) {
  for (const std::int64_t block : {5, 16, 64}) {
    const AttentionPlan plan = blocks_with_random_ones(9, block, 3);
    EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan))) << "blocks of " << block;
  }
}

TEST(WorkLists, BigBird_IsComputedOnce) {
  const auto layout =
      *SequenceLayout::make({{.query = 11, .documents = {900}}, {.query = 5, .documents = {200}}});
  const AttentionPlan plan = *compile_plan(*find_pattern("bigbird"), std::nullopt, layout, 3);
  EXPECT_TRUE(cuts_well(plan, keys_from_oracle("bigbird", std::nullopt, layout)));
}

TEST(WorkLists, LongRows_AreComputedOnce) {
  AttentionPlan plan{.tokens = 9001, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {0, 9001}},
                   {.keys = {0, 20}},
                   {.keys = {20, 9001}, .kind = SegmentKind::band, .window = 1}};
  plan.tasks = {{.queries = {0, 70}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1},
                {.queries = {70, 9001}, .heads = {0, 1}, .first_segment = 1, .segment_count = 2}};
  EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan)));
}

TEST(WorkLists, ManyNarrowTasksOfOneItem_AreComputedOnce) {
  AttentionPlan plan{.tokens = 700, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {0, 700}}, {.keys = {0, 650}}};
  for (std::int64_t row = 0; row < 40; ++row) {
    plan.segments.push_back({.keys = {row, 700 - row}});
    plan.tasks.push_back({.queries = {row * 3, row * 3 + 3},
                          .heads = {0, 1},
                          .item = 0,
                          .first_segment = 2 + row,
                          .segment_count = 1});
  }
  plan.tasks.push_back(
      {.queries = {120, 700}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 1});
  EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan)));
}

}  // namespace
}  // namespace attnscope::testing
