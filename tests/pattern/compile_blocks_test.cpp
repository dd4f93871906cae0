// SPDX-License-Identifier: Apache-2.0
//
// Block patterns: their random blocks, and plans compared with the oracle at lengths around the
// borders of blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "engine/pattern/compile_plan.h"
#include "engine/pattern/oracle.h"
#include "tests/pattern/plan_agreement.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::plan_agrees;

/// The fewest blocks that an item which is not full attention can have.
std::int64_t fewest_blocks(std::int64_t random) {
  return 5 + 2 * random + 1;
}

TEST(RandomBlocks, AreDistinctMiddleBlocksOtherThanNeighbours) {
  for (const std::int64_t random : {1, 2, 3, 8}) {
    for (std::int64_t blocks = fewest_blocks(random); blocks < fewest_blocks(random) + 20;
         ++blocks) {
      for (std::int32_t head = 0; head < 4; ++head) {
        for (std::int64_t block = 1; block < blocks - 1; ++block) {
          const auto drawn =
              random_blocks(random, {.seed = 1, .blocks = blocks, .head = head, .block = block});
          ASSERT_EQ(drawn.size(), static_cast<std::size_t>(random));
          std::int64_t previous = 0;  // ascending and each once
          for (const std::int64_t other : drawn) {
            ASSERT_GT(other, previous);
            ASSERT_LT(other, blocks - 1);
            ASSERT_GT(std::abs(other - block), 1);
            previous = other;
          }
        }
      }
    }
  }
}

// These very numbers on every machine: a run elsewhere attends to the same blocks.
TEST(RandomBlocks, AreTheSameOnEveryMachine) {
  EXPECT_THAT(random_blocks(3, {.seed = 1, .blocks = 16, .head = 0, .block = 7}),
              ElementsAre(2, 9, 10));
  EXPECT_THAT(random_blocks(3, {.seed = 1, .blocks = 64, .head = 11, .block = 62}),
              ElementsAre(17, 22, 31));
}

TEST(RandomBlocks, DifferBySeedLengthHeadAndBlock) {
  const auto all_of = [](std::int64_t seed, std::int64_t blocks, std::int32_t head) {
    std::vector<std::vector<std::int64_t>> draws;
    for (std::int64_t block = 1; block < 30; ++block) {
      draws.push_back(
          random_blocks(3, {.seed = seed, .blocks = blocks, .head = head, .block = block}));
    }
    return draws;
  };
  const auto draws = all_of(1, 32, 0);
  EXPECT_EQ(draws, all_of(1, 32, 0));
  EXPECT_NE(draws, all_of(2, 32, 0));
  EXPECT_NE(draws, all_of(1, 33, 0));
  EXPECT_NE(draws, all_of(1, 32, 1));
  EXPECT_GT(std::set(draws.begin(), draws.end()).size(), 25U);
}

TEST(RandomBlocks, AreUniformOverTheCandidates) {
  constexpr std::int64_t blocks = 15, block = 6, random = 3, seeds = 9000;
  std::vector<int> times(static_cast<std::size_t>(blocks));
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    for (const std::int64_t other :
         random_blocks(random, {.seed = seed, .blocks = blocks, .head = 0, .block = block})) {
      ++times[static_cast<std::size_t>(other)];
    }
  }
  // 10 candidates: 13 middle blocks without 5, 6 and 7. Six standard deviations of a binomial.
  const double share = 0.3;
  const double expected = share * seeds;
  const double slack = 6 * std::sqrt(seeds * share * (1 - share));
  for (std::int64_t other = 1; other < blocks - 1; ++other) {
    const double seen = times[static_cast<std::size_t>(other)];
    if (std::abs(other - block) <= 1) {
      EXPECT_EQ(seen, 0) << other;
    } else {
      EXPECT_NEAR(seen, expected, slack) << other;
    }
  }
}

TEST(RandomBlocks, AreNoneOrAllCandidatesIfSoManyAreRequested) {
  EXPECT_THAT(random_blocks(0, {.seed = 1, .blocks = 6, .head = 0, .block = 2}), IsEmpty());
  EXPECT_THAT(random_blocks(5, {.seed = 3, .blocks = 10, .head = 2, .block = 4}),
              ElementsAre(1, 2, 6, 7, 8));
}

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

TEST(CompileBlocks, BigBirdMatchesTheOracleInEveryHead) {
  ASSERT_TRUE(plan_agrees(bigbird(), std::nullopt, items_of({705, 100, 770, 705, 64, 704}), 3));
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

TEST(CompileBlocks, HeadsWithTheSameKeysAreOneTaskAndNeighbouringBlocksOneSegment) {
  const AttentionPlan plan = plan_of(small_blocks(4, 0), items_of({26}), 12);
  for (const Task& task : plan.tasks) EXPECT_EQ(task.heads.end - task.heads.begin, 12);
  EXPECT_THAT(
      testing::text_of(plan),
      ElementsAre("0-4: whole 0-26", "4-8: whole 0-12 whole 24-26", "8-12: whole 0-16 whole 24-26",
                  "12-16: whole 0-4 whole 8-20 whole 24-26", "16-20: whole 0-4 whole 12-26",
                  "20-24: whole 0-4 whole 16-26", "24-26: whole 0-26"));
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
