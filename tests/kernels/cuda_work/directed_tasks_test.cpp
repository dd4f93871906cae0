// SPDX-License-Identifier: Apache-2.0
//
// What is seen through segments, against their meaning (kernels/plan/key_runs.h), token by token,
// both ways.
#include "kernels/cuda/work/directed_tasks.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "kernels/plan/key_runs.h"
#include "tests/kernels/cuda_work/list_checks.h"

namespace attnscope::cuda {
namespace {

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

/// The segments of bands and of all keys; which rows see a block is told by their tasks.
void for_each_unblocked(const std::function<void(const Segment&, const WorkSegment&)>& visit) {
  for (const Segment& segment : segments()) {
    if (segment.kind != SegmentKind::block) visit(segment, directed(segment, keys, tokens));
  }
}

TEST(DirectedSegments, ShowAQueryTheKeysOfItsSegment) {
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

TEST(DirectedSegments, OfATransposedPlan_ShowAKeyTheQueriesThatSeeIt) {
  for (const Segment& segment : segments()) {
    const AttentionPlan plan{
        .tokens = tokens,
        .heads = 1,
        .tasks = {{.queries = {2, tokens}, .heads = {0, 1}, .segment_count = 1}},
        .segments = {segment},
        .indices = {}};
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

TEST(DirectedSegments, WhoseWindowHoldsEveryPair_AreWhole) {
  const Segment wide{.keys = {7, 31}, .kind = SegmentKind::band, .window = tokens - 1};
  EXPECT_TRUE(directed(wide, keys, tokens).is_whole());
  const Segment narrower{.keys = {7, 31}, .kind = SegmentKind::band, .window = tokens - 2};
  EXPECT_FALSE(directed(narrower, keys, tokens).is_whole());
}

TEST(DirectedSegments, OutOfReachOfAllTokens_HaveNone) {
  const Segment away{.keys = {7, 31}, .kind = SegmentKind::band, .window = 3, .offset = 43};
  EXPECT_EQ(directed(away, keys, tokens).run.count, 0);
}

}  // namespace
}  // namespace attnscope::cuda
