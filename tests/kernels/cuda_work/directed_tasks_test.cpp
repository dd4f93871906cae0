// SPDX-License-Identifier: Apache-2.0
//
// Runs of tokens, the keys and queries seen through segments, which are compared with their
// definition (kernels/plan/key_runs.h) token by token in both directions, and a list in memory.
#include "kernels/cuda/work/directed_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/key_runs.h"
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
  // Beyond any token on one side, within reach on the other.
  all.push_back({.keys = {7, 31}, .kind = SegmentKind::band, .window = 5000, .offset = 4990});
  all.push_back({.keys = {7, 31}, .kind = SegmentKind::band, .window = 5000, .offset = -5013});
  return all;
}

std::string text_of(const Segment& segment) {
  return fmt::format("kind {} window {} offset {}", static_cast<int>(segment.kind), segment.window,
                     segment.offset);
}

using attnscope::testing::sees;

/// Segments of bands and of all keys. Which rows see a block depends on their tasks.
void for_each_unblocked(const std::function<void(const Segment&, const WorkSegment&)>& visit) {
  for (const Segment& segment : segments()) {
    if (segment.kind != SegmentKind::block) visit(segment, directed(segment, keys, tokens));
  }
}

TEST(DirectedSegments, ContainTheKeysThatAQuerySees) {
  for_each_unblocked([](const Segment& segment, const WorkSegment& made) {
    for (std::int32_t query = 0; query < tokens; ++query) {
      const TokenRange expected = window_within({7, 31}, segment, query);
      for (std::int32_t key = 7; key < 31; ++key) {
        const bool inside = key >= expected.begin && key < expected.end;
        ASSERT_EQ(made.run.count > 0 && sees(made, query, key), inside)
            << text_of(segment) << " query " << query << " key " << key;
      }
    }
  });
}

TEST(DirectedSegments, OfATransposedPlan_ListTheQueriesThatSeeAKey) {
  for (const Segment& segment : segments()) {
    AttentionPlan plan = attnscope::testing::plan_of_one_task(tokens, 1, {segment});
    plan.tasks[0].queries = {2, tokens};
    std::vector<std::int32_t> indices;
    const Direction rows = rows_direction(plan, {0, 1}, directed_segments(plan, indices), indices);
    const Direction by_keys = keys_direction(rows, tokens, indices);
    std::vector<std::int32_t> seen(std::size_t{tokens} * tokens);
    for (const DirectedTask& task : by_keys.tasks) {
      for (std::int32_t i = 0; i < task.run.count; ++i) {
        const std::int32_t key = token_at(task.run, i, indices);
        for (const WorkSegment& passing : by_keys.segments_of(task)) {
          for (std::int32_t j = 0; j < passing.run.count; ++j) {
            const std::int32_t query = token_at(passing.run, j, indices);
            if (sees(passing, key, query)) ++seen[static_cast<std::size_t>(query * tokens + key)];
          }
        }
      }
    }
    for (std::int32_t query = 0; query < tokens; ++query) {
      const TokenRange expected = window_within({7, 31}, segment, query);
      for (std::int32_t key = 0; key < tokens; ++key) {
        const bool inside = query >= 2 && key >= expected.begin && key < expected.end;
        ASSERT_EQ(seen[static_cast<std::size_t>(query * tokens + key)], inside ? 1 : 0)
            << text_of(segment) << " query " << query << " key " << key;
      }
    }
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
