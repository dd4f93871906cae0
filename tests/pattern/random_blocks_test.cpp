// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/random_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST(RandomBlocks, AreNoneIfNoneAreRequested) {
  EXPECT_THAT(random_blocks(0, {.seed = 1, .blocks = 6, .head = 0, .block = 2}), IsEmpty());
}

TEST(RandomBlocks, AreAllCandidatesIfThereAreNoMore) {
  EXPECT_THAT(random_blocks(5, {.seed = 3, .blocks = 10, .head = 2, .block = 4}),
              ElementsAre(1, 2, 6, 7, 8));
}

}  // namespace
}  // namespace attnscope
