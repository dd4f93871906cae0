// SPDX-License-Identifier: Apache-2.0
//
// Which tiles a block mask executes.

#include <gtest/gtest.h>

#include "engine/attention/list.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using tests::item;
using tests::SmallProblem;

/// In tiles of 128 x 128 of a head.
double tiles_executed(const Problem& problem) {
  const auto prepared = find_implementation("flex-blocks")->prepare(problem).value();
  const double tile = 4.0 * 128 * 128 * static_cast<double>(problem.head_dim);
  return prepared->executed().flop / tile / static_cast<double>(problem.plan.heads);
}

TEST(FlexBlocks, OfAWindowAreTheTilesThatItMeets) {
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

TEST(FlexBlocks, OfGlobalTokensAreTheirRowAndTheirColumnOfTiles) {
  const SmallProblem small("sparse", Window::of(64),
                           SequenceLayout::uniform(1, item(1, 11, 1024 - 12)));
  EXPECT_EQ(tiles_executed(small.problem), (8 + 7 + 7) + 6 + 6);
}

TEST(FlexBlocks, OfFullAttentionAreAll_PaddingIncluded) {
  const SmallProblem small("full", std::nullopt, SequenceLayout::uniform(3, item(1, 3, 126)));
  EXPECT_EQ(tiles_executed(small.problem), 3 * 2 * 2);
}

}  // namespace
}  // namespace attnscope
