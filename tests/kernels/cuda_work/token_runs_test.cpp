// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/token_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope::cuda {
namespace {

using ::testing::ElementsAre;

/// The tokens of runs, run by run.
std::vector<std::vector<std::int32_t>> tokens_of(const std::vector<WorkRun>& runs,
                                                 Indices indices) {
  std::vector<std::vector<std::int32_t>> all;
  for (const WorkRun& run : runs) {
    all.emplace_back();
    for (std::int32_t i = 0; i < run.count; ++i) all.back().push_back(token_at(run, i, indices));
  }
  return all;
}

TEST(Runs, OfIntervalsThatTouch_AreOneContiguousRun) {
  std::vector<std::int32_t> indices;
  const std::vector<TokenRange> touching{{3, 5}, {5, 5}, {5, 9}};
  const std::vector<WorkRun> runs = runs_of(touching, indices);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].listed, 0);
  EXPECT_THAT(tokens_of(runs, indices), ElementsAre(ElementsAre(3, 4, 5, 6, 7, 8)));
}

TEST(Runs, OfShortIntervals_AreOneList) {
  std::vector<std::int32_t> indices{7};
  const std::vector<TokenRange> apart{{3, 5}, {8, 9}, {300, 302}};
  const std::vector<WorkRun> runs = runs_of(apart, indices);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].listed, 1);
  EXPECT_EQ(runs[0].begin, 1);
  EXPECT_THAT(tokens_of(runs, indices), ElementsAre(ElementsAre(3, 4, 8, 300, 301)));
}

TEST(Runs, OfLongIntervals_StayContiguous) {
  std::vector<std::int32_t> indices;
  const std::vector<TokenRange> mixed{{0, 2}, {10, 2000}, {2001, 2003}};
  const std::vector<WorkRun> runs = runs_of(mixed, indices);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].listed, 0);
  EXPECT_EQ(runs[0].count, 1990);
  EXPECT_THAT(indices, ElementsAre(0, 1, 2001, 2002));
}

TEST(Intervals, OfARun_DoNotTouch) {
  const std::vector<std::int32_t> indices{99, 2, 3, 8, 16};
  std::vector<TokenRange> intervals;
  append_intervals({1, 4, 1}, indices, intervals);
  append_intervals({20, 3, 0}, indices, intervals);
  append_intervals({20, 0, 0}, indices, intervals);
  EXPECT_THAT(intervals, ElementsAre(TokenRange{2, 4}, TokenRange{8, 9}, TokenRange{16, 17},
                                     TokenRange{20, 23}));
}

TEST(Hulls, ReachFromTheFirstToTheLastToken) {
  const std::vector<std::int32_t> indices{99, 2, 4, 8, 16};
  EXPECT_EQ(hull_of({1, 4, 1}, indices), (TokenRange{2, 17}));
  EXPECT_EQ(hull_of({5, 3, 0}, indices), (TokenRange{5, 8}));
  EXPECT_TRUE(hull_of({5, 0, 0}, indices).empty());
}

}  // namespace
}  // namespace attnscope::cuda
