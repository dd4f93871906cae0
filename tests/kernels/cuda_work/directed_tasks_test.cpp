// SPDX-License-Identifier: Apache-2.0
//
// Runs of tokens, the keys and queries seen through segments, which are compared with their
// definition (kernels/plan/key_runs.h) token by token, and a list in memory.
#include "kernels/cuda/work/directed_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "tests/kernels/cuda_work/list_checks.h"
#include "tests/kernels/plans.h"

namespace attnscope::cuda {
namespace {

using ::testing::ElementsAre;

TEST(Runs, AreContiguousOrListed) {
  struct Case {
    std::string name;
    std::vector<TokenRange> intervals;
    std::vector<WorkRun> runs;
    std::vector<std::int32_t> indices;  // after one earlier index
  };
  for (const auto& [name, intervals, expected, listed] : std::vector<Case>{
           {"intervals that touch", {{3, 5}, {5, 5}, {5, 9}}, {{3, 6, 0}}, {7}},
           {"short intervals", {{3, 5}, {8, 9}, {300, 302}}, {{1, 5, 1}}, {7, 3, 4, 8, 300, 301}},
           {"a long interval between short ones",
            {{0, 2}, {10, 2000}, {2001, 2003}},
            {{10, 1990, 0}, {1, 4, 1}},
            {7, 0, 1, 2001, 2002}}}) {
    std::vector<std::int32_t> indices{7};
    const std::vector<WorkRun> runs = runs_of(intervals, indices);
    EXPECT_EQ(indices, listed) << name;
    ASSERT_EQ(runs.size(), expected.size()) << name;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(runs[i].begin, expected[i].begin) << name;
      EXPECT_EQ(runs[i].count, expected[i].count) << name;
      EXPECT_EQ(runs[i].listed, expected[i].listed) << name;
    }
  }
}

TEST(Intervals, OfARun_AreDisjoint) {
  const std::vector<std::int32_t> indices{99, 2, 3, 8, 16};
  std::vector<TokenRange> intervals;
  append_intervals({1, 4, 1}, indices, intervals);
  append_intervals({20, 3, 0}, indices, intervals);
  append_intervals({20, 0, 0}, indices, intervals);
  EXPECT_THAT(intervals, ElementsAre(TokenRange{2, 4}, TokenRange{8, 9}, TokenRange{16, 17},
                                     TokenRange{20, 23}));
}

TEST(Hulls, ExtendFromTheFirstToTheLastToken) {
  const std::vector<std::int32_t> indices{99, 2, 4, 8, 16};
  EXPECT_EQ(hull_of({1, 4, 1}, indices), (TokenRange{2, 17}));
  EXPECT_EQ(hull_of({5, 3, 0}, indices), (TokenRange{5, 8}));
  EXPECT_TRUE(hull_of({5, 0, 0}, indices).empty());
}

constexpr std::int32_t tokens = 40;
constexpr WorkRun keys{7, 24, 0};
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// Segments over keys 7 ... 31 with these windows and offsets.
std::vector<Segment> segments() {
  std::vector<Segment> all{{.keys = {7, 31}}};
  for (const std::int64_t window : std::initializer_list<std::int64_t>{0, 1, 5, 24, 38, 39, huge}) {
    for (const std::int64_t offset : std::initializer_list<std::int64_t>{
             0, 3, -3, 25, -25, 38, -39, 60, -80, std::int64_t{1} << 59}) {
      all.push_back(
          {.keys = {7, 31}, .kind = SegmentKind::band, .window = window, .offset = offset});
      if (window > 0) {
        all.push_back(
            {.keys = {7, 31}, .kind = SegmentKind::block, .window = window, .offset = offset});
      }
    }
  }
  // Their windows end beyond any token on one side and within reach on the other.
  all.push_back({.keys = {7, 31}, .kind = SegmentKind::band, .window = 5000, .offset = 4990});
  all.push_back({.keys = {7, 31}, .kind = SegmentKind::band, .window = 5000, .offset = -5013});
  return all;
}

/// The units of rows and those of keys.
TEST(DirectedSegments, OfEveryWindowAndOffset_ContainTheKeysThatAQuerySees) {
  for (const Segment& segment : segments()) {
    const AttentionPlan plan = attnscope::testing::plan_of_one_task(tokens, 1, {segment});
    ASSERT_TRUE(attnscope::testing::cuts_well(plan, attnscope::testing::keys_from_plan(plan)))
        << attnscope::testing::text_of(plan);
  }
}

TEST(DirectedSegments, AreWholeIfTheirWindowContainsEveryPair) {
  const Segment wide{.keys = {7, 31}, .kind = SegmentKind::band, .window = tokens - 1};
  EXPECT_TRUE(directed(wide, keys, tokens).is_whole());
  const Segment narrower{.keys = {7, 31}, .kind = SegmentKind::band, .window = tokens - 2};
  EXPECT_FALSE(directed(narrower, keys, tokens).is_whole());
}

TEST(DirectedSegments, OutOfReachOfAllTokens_AreEmpty) {
  const Segment away{.keys = {7, 31}, .kind = SegmentKind::band, .window = 3, .offset = 43};
  EXPECT_EQ(directed(away, keys, tokens).run.count, 0);
}

template <typename T>
void expect_same(const T* placed, const std::vector<T>& section) {
  EXPECT_EQ(std::memcmp(placed, section.data(), section.size() * sizeof(T)), 0);
}

TEST(DeviceList, PointersPointToAlignedSections) {
  const auto& plans = attnscope::testing::hand_made_plans();
  const auto made =
      std::ranges::find(plans, "12 long rows", &attnscope::testing::HandMadePlan::name);
  ASSERT_NE(made, plans.end());
  const WorkList list = *cut_into_units(made->plan, Passes::forward_backward);
  ASSERT_FALSE(list.segments.empty());
  ASSERT_FALSE(list.indices.empty());
  const std::vector<std::byte> bytes = list_bytes(list);
  const DeviceList placed = device_list(list, bytes.data());
  const auto aligned = [&](const auto* section) {
    return (reinterpret_cast<const std::byte*>(section) - bytes.data()) % 256 == 0;
  };
  EXPECT_TRUE(aligned(placed.segments) && aligned(placed.indices));
  expect_same(placed.units, list.units);
  expect_same(placed.segments, list.segments);
  expect_same(placed.indices, list.indices);
}

TEST(DeviceList, OfAnEmptyListHasNoBytes) {
  EXPECT_THAT(list_bytes(WorkList{}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace attnscope::cuda
