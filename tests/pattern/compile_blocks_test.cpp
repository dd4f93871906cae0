// SPDX-License-Identifier: Apache-2.0
//
// Block patterns: plans compared with the oracle at lengths around the borders of blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/compile_plan.h"
#include "engine/pattern/oracle.h"
#include "tests/pattern/plan_agreement.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::plan_agrees;

const AttentionPattern& bigbird() {
  static const AttentionPattern pattern = find_pattern("bigbird").value();
  return pattern;
}

AttentionPattern small_blocks(std::int64_t length, std::int64_t random) {
  AttentionPattern pattern = bigbird();
  pattern.blocks = BlockRule{.length = length, .random = random, .seed = 5};
  return pattern;
}

SequenceLayout items_of(const std::vector<std::int64_t>& tokens) {
  std::vector<LayoutItem> items;
  for (const std::int64_t n : tokens) items.push_back({.query = 10, .documents = {n - 11}});
  return SequenceLayout::make(std::move(items)).value();
}

AttentionPlan plan_of(const AttentionPattern& pattern, const SequenceLayout& layout,
                      std::int32_t heads) {
  return compile_plan(pattern, std::nullopt, layout, heads).value();
}

TEST(CompileBlocks, BigBirdMatchesTheOracleAroundFallbackAndBlocks) {
  for (const std::int64_t n : {64, 703, 704, 705, 767, 768, 769, 831, 832, 833, 1000}) {
    ASSERT_TRUE(plan_agrees(bigbird(), std::nullopt, items_of({n}), 2));
  }
}

TEST(CompileBlocks, ItemsOfAnyLengthsMatchTheOracleInEveryHead) {
  ASSERT_TRUE(plan_agrees(bigbird(), std::nullopt, items_of({705, 100, 770, 705}), 3));
}

TEST(CompileBlocks, SmallBlocksMatchTheOracleAtEveryLength) {
  for (const std::int64_t length : {1, 2, 3, 5}) {
    for (const std::int64_t random : {0, 1, 3}) {
      for (std::int64_t n = 11; n <= 70; ++n) {
        ASSERT_TRUE(plan_agrees(small_blocks(length, random), std::nullopt, items_of({n, 40}), 3));
      }
    }
  }
}

TEST(CompileBlocks, ItemUpToTheFallbackIsOneWholeTask) {
  const AttentionPlan plan = plan_of(bigbird(), items_of({704, 705}), 2);
  EXPECT_EQ(plan.tasks[0].queries, (TokenRun{0, 704}));
  EXPECT_EQ(plan.tasks[0].heads.end, 2);
  EXPECT_EQ(plan.segments[0].keys, (TokenRun{0, 704}));
  EXPECT_EQ(plan.tasks[1].queries, (TokenRun{704, 768}));
}

TEST(CompileBlocks, EqualItemsHaveEqualRandomBlocksInEachHead) {
  const AttentionPlan plan = plan_of(bigbird(), items_of({1000, 1000}), 2);
  // The outer blocks are one task for both heads, the 14 middle ones a task a head.
  ASSERT_EQ(plan.tasks.size(), 2U * (2 + 14 * 2));
  const auto keys_of = [&](std::size_t task) {
    std::vector<TokenRange> keys;
    for (const Segment& segment : plan.segments_of(plan.tasks[task])) {
      keys.push_back({segment.keys.begin - 1000 * plan.tasks[task].item,
                      segment.keys.end - 1000 * plan.tasks[task].item});
    }
    return keys;
  };
  int different = 0;
  for (std::size_t t = 0; t < 30; ++t) EXPECT_EQ(keys_of(t), keys_of(30 + t)) << t;
  for (std::size_t t = 1; t < 29; t += 2) different += keys_of(t) == keys_of(t + 1) ? 0 : 1;
  EXPECT_GT(different, 7);
}

TEST(CompileBlocks, HeadsWithTheSameKeysAreOneTask) {
  const AttentionPlan plan = plan_of(small_blocks(4, 0), items_of({24}), 12);
  std::vector<TokenRun> rows;
  for (const Task& task : plan.tasks) {
    EXPECT_EQ(task.heads.end - task.heads.begin, 12);
    rows.push_back(task.queries);
  }
  EXPECT_THAT(rows, ElementsAre(TokenRun{0, 4}, TokenRun{4, 8}, TokenRun{8, 12}, TokenRun{12, 16},
                                TokenRun{16, 20}, TokenRun{20, 24}));
}

TEST(CompileBlocks, NeighbouringBlocksAreOneSegment) {
  const AttentionPlan plan = plan_of(small_blocks(4, 0), items_of({30}), 1);
  std::vector<TokenRun> keys;
  for (const Segment& segment : plan.segments_of(plan.tasks[3])) keys.push_back(segment.keys);
  EXPECT_THAT(keys, ElementsAre(TokenRun{0, 4}, TokenRun{8, 20}, TokenRun{28, 30}));
}

TEST(CompileBlocks, MiddleBlockAttendsToEightBlocks) {
  const AttentionPlan plan = plan_of(bigbird(), items_of({4096}), 12);
  for (const Task& task : plan.tasks) {
    std::int64_t keys = 0;
    for (const Segment& segment : plan.segments_of(task)) keys += segment.keys.size();
    const std::int64_t block = task.queries.begin / 64;
    const bool outer = block == 0 || block == 63;
    const bool alongside = block == 1 || block == 62;
    EXPECT_EQ(keys, outer ? 4096 : (alongside ? 7 : 8) * 64) << block;
  }
}

TEST(CompileBlocks, GroupsAndDocumentsAreIgnored) {
  const auto listwise = SequenceLayout::make({{.query = 7, .documents = {300, 0, 500}}}).value();
  ASSERT_TRUE(plan_agrees(bigbird(), std::nullopt, listwise, 2));
  EXPECT_EQ(plan_of(bigbird(), listwise, 2).segments,
            plan_of(bigbird(), items_of({808}), 2).segments);
}

TEST(CompileBlocks, EmptyItemsHaveNoTasks) {
  const auto layout = SequenceLayout::make({{.cls = 0}, {.cls = 1}}).value();
  EXPECT_EQ(plan_of(bigbird(), layout, 2).tasks.size(), 1U);
}

TEST(CompileBlocksErrors, SharedQueryIsRefused) {
  const auto plan =
      compile_plan(bigbird(), std::nullopt, SequenceLayout::uniform(2, {.documents = {900}}, 6), 2);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message,
              HasSubstr("pattern 'bigbird': its blocks need each item's tokens in one sequence"));
}

TEST(CompileBlocksErrors, PatternsMadeInCodeAreChecked) {
  const SequenceLayout layout = items_of({900});
  const auto error = [&](const AttentionPattern& pattern) {
    const auto plan = compile_plan(pattern, std::nullopt, layout, 1);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_THAT(error(small_blocks(0, 3)), HasSubstr("length of a block must be from 1"));
  EXPECT_THAT(error(small_blocks(64, -1)),
              HasSubstr("random blocks must be from 0 to 256, not -1"));
  AttentionPattern both = bigbird();
  both.attends[0][0] = {.kind = GroupRule::Kind::whole};
  EXPECT_THAT(error(both), HasSubstr("blocks define all allowed pairs"));
}

}  // namespace
}  // namespace attnscope
