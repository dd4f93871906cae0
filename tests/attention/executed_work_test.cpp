// SPDX-License-Identifier: Apache-2.0
//
// The work that Longformer's chunks and FlexAttention's tiles execute in addition to the useful
// work.

#include <gtest/gtest.h>

#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using tests::item;
using tests::SmallProblem;

ExecutedWork executed(const Problem& problem) {
  return tests::prepare("longformer-chunks", problem)->executed();
}

double useful(const Problem& problem) {
  return useful_flop(count(problem.plan), problem.head_dim, passes_of(problem.direction));
}

TEST(LongformerChunks, MultiplyOneChunkAndTwoBlocksForTwoWindowsOfTokens) {
  SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 8)), 1, 8);
  small.problem.operation = Operation::windowed_matmul;
  // 8 x 8 scores, and 2 blocks of 4 rows by 12 values.
  EXPECT_EQ(executed(small.problem).flop, 2.0 * 8 * (8 * 8 + 2 * 4 * 12));
  small.problem.direction = Direction::forward_backward;
  // Backward one more product like the scores, three like the values.
  EXPECT_EQ(executed(small.problem).flop, 2.0 * 8 * (2 * 8 * 8 + 4 * 2 * 4 * 12));
}

TEST(LongformerChunks, PadToAMultipleOfTwoWindows) {
  SmallProblem exact("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 24)));
  SmallProblem padded("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 17)));
  for (SmallProblem* small : {&exact, &padded}) {
    small->problem.operation = Operation::windowed_matmul;
  }
  EXPECT_EQ(executed(exact.problem).flop, executed(padded.problem).flop);
  EXPECT_GT(executed(padded.problem).bytes, executed(exact.problem).bytes);
}

TEST(LongformerChunks, MultiplyTwiceTheBandsScoresAndOneAndAHalfTimesItsValues) {
  const std::int64_t n = 4096, w = 64, heads = 12, dim = 32;
  SmallProblem small("sparse", Window::of(w), SequenceLayout::uniform(1, item(0, 0, n)), heads,
                     dim);
  small.problem.operation = Operation::windowed_matmul;
  // 63 chunks per head and, except for the last, one more across the border to the next.
  const double scores = static_cast<double>(64 * heads - 1) * 4 * w * w;
  const double values = static_cast<double>(heads * n) * 3 * w;
  EXPECT_EQ(executed(small.problem).flop, 2.0 * dim * (scores + values));
  const double useful_products = useful(small.problem) / 2;
  EXPECT_NEAR(2.0 * dim * scores / useful_products, 2.0, 0.03);
  EXPECT_NEAR(2.0 * dim * values / useful_products, 1.5, 0.03);
}

TEST(LongformerChunks, ExecuteGlobalColumnsForEveryRow_AndGlobalRowsDensely) {
  const std::int64_t heads = 2, dim = 8, n = 24;
  const SmallProblem without("longformer", Window::of(4), SequenceLayout::uniform(1, item(0, 0, n)),
                             heads, dim);
  const SmallProblem small("longformer", Window::of(4),
                           SequenceLayout::uniform(1, item(1, 2, n - 3)), heads, dim);
  const double globals = 4.0 * heads * dim * n * 3;
  EXPECT_EQ(executed(small.problem).flop, executed(without.problem).flop + 2 * globals);
}

TEST(LongformerChunks, ExecuteAtLeastTheUsefulWorkOfEveryPattern) {
  for (const char* pattern : {"longformer", "qds", "sparse", "sparse-without-independent-query"}) {
    for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
      SmallProblem small(pattern, Window::of(4), SequenceLayout::uniform(2, item(1, 11, 300)));
      small.problem.direction = direction;
      const double share = direction == Direction::forward ? 1 : 6.0 / 7;  // weights are kept
      EXPECT_GE(executed(small.problem).flop, share * useful(small.problem)) << pattern;
      EXPECT_GT(executed(small.problem).bytes,
                least_bytes(small.plan, small.problem.head_dim, small.problem.dtype,
                            passes_of(direction)))
          << pattern;
    }
  }
}

/// In tiles of 128 x 128 of a head.
double tiles_executed(const Problem& problem) {
  const double tile = 4.0 * 128 * 128 * static_cast<double>(problem.head_dim);
  return tests::prepare("flex-blocks", problem)->executed().flop / tile /
         static_cast<double>(problem.plan.heads);
}

TEST(FlexBlocks, ExecuteTheTilesOfAWindow) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(0, 0, 1024));
  // Eight on the diagonal and its neighbours: from window 1 to 128 the same.
  for (const std::int64_t window : {1, 64, 128}) {
    const SmallProblem small("longformer", Window::of(window), layout);
    EXPECT_EQ(tiles_executed(small.problem), 8 + 7 + 7) << window;
  }
  EXPECT_EQ(tiles_executed(SmallProblem("longformer", Window::of(0), layout).problem), 8);
  EXPECT_EQ(tiles_executed(SmallProblem("longformer", Window::of(129), layout).problem),
            8 + 2 * 7 + 2 * 6);
}

TEST(FlexBlocks, ExecuteARowAndAColumnOfTilesForGlobalTokens) {
  const SmallProblem small("sparse", Window::of(64),
                           SequenceLayout::uniform(1, item(1, 11, 1024 - 12)));
  EXPECT_EQ(tiles_executed(small.problem), (8 + 7 + 7) + 6 + 6);
}

TEST(FlexBlocks, ExecuteAllTilesOfFullAttention_PaddingIncluded) {
  const SmallProblem small("full", std::nullopt, SequenceLayout::uniform(3, item(1, 3, 126)));
  EXPECT_EQ(tiles_executed(small.problem), 3 * 2 * 2);
}

}  // namespace
}  // namespace attnscope
