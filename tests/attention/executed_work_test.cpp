// SPDX-License-Identifier: Apache-2.0
//
// The work that Longformer's chunks and FlexAttention's tiles execute in addition to the useful
// work; the memory and the work of the banded implementation, which are exactly the band's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/plan/counts.h"
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

std::unique_ptr<PreparedAttention> prepared(const Problem& problem) {
  return tests::prepare("longformer-banded", problem);
}

TEST(LongformerBandedMemory, IsTheBandInBothDirections) {
  const std::int64_t n = 50, heads = 2;
  for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
    SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(0, 0, n)));
    small.problem.direction = direction;
    EXPECT_EQ(prepared(small.problem)->workspace_bytes(), 3 * heads * n * (2 * 4 + 1) * 4);
    EXPECT_EQ(prepared(small.problem)->predicted_peak_bytes(), 3 * heads * n * (2 * 4 + 1) * 4);
  }
}

TEST(LongformerBandedMemory, GrowsByAColumnForEachGlobalKey) {
  // [CLS] and 3 query tokens attend to all 14 or 3; each of the 10 tokens to these 4 and its
  // window.
  const SmallProblem small("sparse", Window::of(2), SequenceLayout::uniform(1, item(1, 3, 10)));
  EXPECT_EQ(prepared(small.problem)->workspace_bytes(), 2 * (14 + 3 * 3 + 10 * (4 + 5)) * 4);
}

TEST(LongformerBandedWork, IsTheBandWithoutTheCellsBeyondItsEnds) {
  const std::int64_t n = 50, heads = 2, dim = 8, w = 4;
  SmallProblem small("sparse", Window::of(w), SequenceLayout::uniform(3, item(0, 0, n)));
  const std::int64_t cells = n * (2 * w + 1), beyond = w * (w + 1);
  const auto bytes = [](std::int64_t values) {
    return 4.0 * 3 * heads * static_cast<double>(values);
  };
  const ExecutedWork forward = prepared(small.problem)->executed();
  EXPECT_EQ(forward.flop, 4.0 * 3 * heads * dim * static_cast<double>(cells - beyond));
  EXPECT_EQ(forward.flop, useful(small.problem));
  // q, k, v and o once; the band written, normalised in place and read.
  EXPECT_EQ(forward.bytes, bytes(4 * n * dim + 4 * cells));
  small.problem.operation = Operation::windowed_matmul;
  EXPECT_EQ(prepared(small.problem)->executed().flop, forward.flop);
  EXPECT_EQ(prepared(small.problem)->executed().bytes, bytes(4 * n * dim + 2 * cells));
  // Backward: four products. q, k, v, o and twice grad_o are read, three gradients written; the
  // weights are read twice, become the scores' gradients, and these are read twice.
  small.problem.operation = Operation::attention;
  small.problem.direction = Direction::forward_backward;
  const ExecutedWork both = prepared(small.problem)->executed();
  EXPECT_EQ(both.flop, 3 * forward.flop);
  EXPECT_EQ(both.bytes - forward.bytes, bytes(9 * n * dim + 5 * cells));
}

TEST(LongformerBanded, DeclinesWideHeads) {
  SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 3, 9)));
  small.problem.head_dim = 257;
  EXPECT_THAT(tests::refusal("longformer-banded", small.problem),
              ::testing::HasSubstr("head dimensions 1 to 256, not 257"));
}

/// The number of tiles of 128 x 128 in a head.
double tiles_executed(const Problem& problem) {
  const double tile = 4.0 * 128 * 128 * static_cast<double>(problem.head_dim);
  return tests::prepare("flex-blocks", problem)->executed().flop / tile /
         static_cast<double>(problem.plan.heads);
}

TEST(FlexBlocks, ExecuteTheTilesThatHaveAPair) {
  const SequenceLayout documents = SequenceLayout::uniform(1, item(0, 0, 1024));
  const auto tiles = [](const char* pattern, std::int64_t window, const SequenceLayout& layout) {
    return tiles_executed(SmallProblem(pattern, Window::of(window), layout).problem);
  };
  // Eight on the diagonal and its neighbours: from window 1 to 128 the same.
  for (const std::int64_t window : {1, 64, 128})
    EXPECT_EQ(tiles("longformer", window, documents), 8 + 7 + 7) << window;
  EXPECT_EQ(tiles("longformer", 0, documents), 8);
  EXPECT_EQ(tiles("longformer", 129, documents), 8 + 2 * 7 + 2 * 6);
  // A row and a column for global tokens.
  EXPECT_EQ(tiles("sparse", 64, SequenceLayout::uniform(1, item(1, 11, 1024 - 12))),
            (8 + 7 + 7) + 6 + 6);
  // Full attention, padding included.
  EXPECT_EQ(tiles("full", 0, SequenceLayout::uniform(3, item(1, 3, 126))), 3 * 2 * 2);
}

}  // namespace
}  // namespace attnscope
