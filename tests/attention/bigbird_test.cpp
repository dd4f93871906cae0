// SPDX-License-Identifier: Apache-2.0
//
// BigBird's implementation apart from its numbers: which plans have its blocks, and the work that
// it executes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/bigbird/block_structure.h"
#include "engine/pattern/attention_pattern.h"
#include "kernels/plan/counts.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using tests::item;
using tests::refusal;
using tests::SmallProblem;

SequenceLayout of_tokens(const std::vector<std::int64_t>& tokens) {
  std::vector<LayoutItem> items;
  for (const std::int64_t n : tokens) items.push_back(item(1, 11, n - 12));
  return SequenceLayout::make(std::move(items)).value();
}

BlockStructure structure_of(const SequenceLayout& layout) {
  const SmallProblem small("bigbird", std::nullopt, layout, 3);
  return block_structure(small.plan, small.layout).value();
}

TEST(BlockStructure, ContainsThePatternsRandomBlocksOfEveryHead) {
  const SmallProblem small("bigbird", std::nullopt, of_tokens({1000}), 3);
  const BlockStructure structure = block_structure(small.plan, small.layout).value();
  ASSERT_EQ(structure.groups.size(), 1U);
  const BlockGroup& group = structure.groups[0];
  EXPECT_EQ(group.length, 64);
  EXPECT_EQ(group.blocks, 16);
  EXPECT_EQ(group.random, 3);
  EXPECT_EQ(group.last_block_tokens(group.runs[0]), 40);
  for (std::int64_t head = 0; head < 3; ++head) {
    for (std::int64_t block = 1; block < 15; ++block) {
      const std::vector<std::int64_t> drawn = random_blocks(
          3, {.seed = 1, .blocks = 16, .head = static_cast<std::int32_t>(head), .block = block});
      for (std::int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(group.random_block(head, block, i), drawn[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(BlockStructure, GroupsItemsWithTheSameNumberOfBlocks) {
  const BlockStructure structure = structure_of(of_tokens({770, 800, 800, 704, 1000, 800, 20}));
  ASSERT_EQ(structure.groups.size(), 3U);
  EXPECT_EQ(structure.groups[0].blocks, 13);
  EXPECT_EQ(structure.groups[0].items(), 4);
  ASSERT_EQ(structure.groups[0].runs.size(), 3U);
  EXPECT_EQ(structure.groups[0].runs[1].count, 2);
  EXPECT_EQ(structure.groups[0].runs[2].before, 3);
  EXPECT_EQ(structure.groups[0].runs[2].first, (TokenRange{4074, 4874}));
  EXPECT_EQ(structure.groups[1].blocks, 0);  // full attention
  EXPECT_EQ(structure.groups[1].items(), 2);
  EXPECT_EQ(structure.groups[2].blocks, 16);
}

TEST(BlockStructure, DeclinesBlocksWithOtherKeysThanBigBirds) {
  // The first segment of the sixth block becomes its only one: that of the first block's rows,
  // which attend to everything, or of only the first block.
  for (const auto& [everything, reason] :
       {std::pair{true, "some of its blocks attend to 3 random blocks and some"},
        {false, "do not attend to block"}}) {
    SmallProblem small("bigbird", std::nullopt, of_tokens({1000}), 1);
    for (Task& task : small.plan.tasks) {
      if (task.queries.begin != 64 * 5) continue;
      if (everything) task.first_segment = 0;
      task.segment_count = 1;
    }
    EXPECT_THAT(refusal("bigbird", small.problem), HasSubstr(reason));
  }
}

TEST(BigBird, SupportsBlocksAndFullAttention) {
  EXPECT_EQ(
      refusal("bigbird", SmallProblem("bigbird", std::nullopt, of_tokens({1000, 50})).problem), "");
  EXPECT_EQ(refusal("bigbird", SmallProblem("full", std::nullopt, of_tokens({1000, 50})).problem),
            "");
  for (const char* pattern : {"sparse", "longformer", "qds", "listwise"}) {
    EXPECT_THAT(
        refusal("bigbird", SmallProblem(pattern, Window::of(4), of_tokens({900})).problem),
        HasSubstr(fmt::format("bigbird supports blocks that attend to whole blocks, and full "
                              "attention; pattern '{}'",
                              pattern)));
  }
  EXPECT_THAT(refusal("bigbird", SmallProblem("sparse", Window::of(4),
                                              SequenceLayout::uniform(2, item(1, 0, 9), 5))
                                     .problem),
              HasSubstr("a shared query is not part"));
}

double executed_over_useful(const SequenceLayout& layout, Direction direction) {
  SmallProblem small("bigbird", std::nullopt, layout, 2, 16);
  small.problem.direction = direction;
  return tests::prepare("bigbird", small.problem)->executed().flop /
         useful_flop(count(small.plan), 16, passes_of(direction));
}

TEST(BigBirdWork, IsTheUsefulWorkForWholeBlocks) {
  EXPECT_DOUBLE_EQ(executed_over_useful(of_tokens({1024, 768}), Direction::forward), 1);
  // Autograd keeps the weights; useful work computes the scores again.
  EXPECT_DOUBLE_EQ(executed_over_useful(of_tokens({1024}), Direction::forward_backward), 6.0 / 7);
  EXPECT_DOUBLE_EQ(executed_over_useful(of_tokens({300}), Direction::forward), 1);
}

TEST(BigBirdWork, CountsAShorterLastBlockAsAWholeBlock) {
  EXPECT_GT(executed_over_useful(of_tokens({961}), Direction::forward), 1.05);
}

TEST(BigBird, BackwardNeedsAForwardCall) {
  SmallProblem small("bigbird", std::nullopt, of_tokens({800}));
  small.problem.direction = Direction::forward_backward;
  const Status done = tests::prepare("bigbird", small.problem)->backward({});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("needs a forward call"));
}

}  // namespace
}  // namespace attnscope
