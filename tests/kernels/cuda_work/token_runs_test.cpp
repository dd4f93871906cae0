// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/token_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/work/draft.h"

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
  const std::vector<TokenInterval> touching{{3, 5}, {5, 5}, {5, 9}};
  const std::vector<WorkRun> runs = runs_of(touching, true, indices);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].listed, 0);
  EXPECT_THAT(tokens_of(runs, indices), ElementsAre(ElementsAre(3, 4, 5, 6, 7, 8)));
}

TEST(Runs, OfShortIntervals_AreOneList) {
  std::vector<std::int32_t> indices{7};
  const std::vector<TokenInterval> apart{{3, 5}, {8, 9}, {300, 302}};
  const std::vector<WorkRun> runs = runs_of(apart, false, indices);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].listed, 1);
  EXPECT_EQ(runs[0].begin, 1);
  EXPECT_THAT(tokens_of(runs, indices), ElementsAre(ElementsAre(3, 4, 8, 300, 301)));
}

TEST(Runs, WithWindows_DoNotReachOverWideGaps) {
  std::vector<std::int32_t> indices;
  const std::vector<TokenInterval> apart{{3, 5}, {8, 9}, {300, 302}};
  const std::vector<WorkRun> runs = runs_of(apart, true, indices);
  EXPECT_THAT(tokens_of(runs, indices), ElementsAre(ElementsAre(3, 4, 8), ElementsAre(300, 301)));
}

TEST(Runs, OfLongIntervals_StayContiguous) {
  std::vector<std::int32_t> indices;
  const std::vector<TokenInterval> mixed{{0, 2}, {10, 2000}, {2001, 2003}};
  const std::vector<WorkRun> runs = runs_of(mixed, false, indices);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].listed, 0);
  EXPECT_EQ(runs[0].count, 1990);
  EXPECT_THAT(indices, ElementsAre(0, 1, 2001, 2002));
}

TEST(Runs, WithinAnInterval_KeepTheirTokensOfIt) {
  const std::vector<std::int32_t> indices{99, 2, 4, 8, 16};
  const WorkRun listed{1, 4, 1}, contiguous{2, 15, 0};
  EXPECT_THAT(tokens_of({within(listed, {3, 16}, indices), within(contiguous, {0, 4}, indices),
                         within(contiguous, {20, 30}, indices), within(listed, {5, 5}, indices)},
                        indices),
              ElementsAre(ElementsAre(4, 8), ElementsAre(2, 3), ElementsAre(), ElementsAre()));
}

TEST(Hulls, ReachFromTheFirstToTheLastToken) {
  const std::vector<std::int32_t> indices{99, 2, 4, 8, 16};
  EXPECT_EQ(hull_of({1, 4, 1}, indices), (TokenInterval{2, 17}));
  EXPECT_EQ(hull_of({5, 3, 0}, indices), (TokenInterval{5, 8}));
  EXPECT_TRUE(hull_of({5, 0, 0}, indices).empty());
}

TEST(PartsOfSpans, CountSlotsFromEachSpansBegin) {
  const std::vector<WorkSpan> spans{
      {.run = {0, 17, 0}}, {.run = {100, 5, 1}}, {.run = {50, 32, 0}}};
  ASSERT_EQ(slots_of(spans), 5);
  const std::vector<SpanPart> parts = parts_within(spans, 1, 4);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].run.begin, 16);
  EXPECT_EQ(parts[0].run.count, 1);
  EXPECT_EQ(parts[1].span, 1U);
  EXPECT_EQ(parts[1].run.begin, 100);
  EXPECT_EQ(parts[1].run.count, 5);
  EXPECT_EQ(parts[2].run.begin, 50);
  EXPECT_EQ(parts[2].run.count, 16);
}

}  // namespace
}  // namespace attnscope::cuda
