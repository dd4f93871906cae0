// SPDX-License-Identifier: Apache-2.0
//
// Counts and row intervals of generated plans with every kind of run and segment, compared pair by
// pair with the definition in kernels/plan/attention_plan.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t tokens = 40;

/// The definition: whether `query` attends to `key` through `segment`.
bool sees(const AttentionPlan& plan, const Segment& segment, std::int64_t query, std::int64_t key) {
  const auto contains = [&](std::int64_t token) {
    for (std::int64_t i = 0; i < segment.keys.size(); ++i) {
      if (plan.token_at(segment.keys, i) == token) return true;
    }
    return false;
  };
  if (!contains(key)) return false;
  for (const std::int64_t skipped : plan.skipped_of(segment)) {
    if (skipped == key) return false;
  }
  const std::int64_t opposite = query + segment.offset;
  if (segment.kind == SegmentKind::whole) return true;
  if (segment.kind == SegmentKind::band) return std::abs(key - opposite) <= segment.window;
  const std::int64_t first = plan.token_at(segment.keys, 0);
  const std::int64_t last = plan.token_at(segment.keys, segment.keys.size() - 1);
  return opposite >= first && opposite <= last &&
         (opposite - first) / segment.window == (key - first) / segment.window;
}

class PlanMaker {
 public:
  explicit PlanMaker(std::uint32_t seed) : engine_(seed) {}

  /// One task of one random segment.
  AttentionPlan make() {
    plan_ = {.tokens = tokens, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
    Task task{.queries = run(), .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 1};
    Segment segment{.keys = run(), .kind = static_cast<SegmentKind>(up_to(2))};
    segment.window = segment.kind == SegmentKind::block ? 1 + up_to(9) : up_to(9);
    if (up_to(2) == 0) segment.offset = up_to(20) - 10;
    if (up_to(1) == 0) skip_some(segment);
    plan_.segments.push_back(segment);
    plan_.tasks.push_back(task);
    return plan_;
  }
  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(most + 1));
  }

 private:
  TokenRun run() {
    const std::int64_t begin = up_to(tokens - 1);
    const std::int64_t end = begin + 1 + up_to(tokens - 1 - begin);
    if (up_to(1) == 0) return {begin, end};
    const auto first = static_cast<std::int64_t>(plan_.indices.size());
    for (std::int64_t token = begin; token < end; ++token) {
      if (token == begin || up_to(2) == 0) plan_.indices.push_back(token);
    }
    return {first, static_cast<std::int64_t>(plan_.indices.size()), true};
  }
  void skip_some(Segment& segment) {
    segment.skip_begin = static_cast<std::int64_t>(plan_.indices.size());
    for (std::int64_t i = 0; i < segment.keys.size(); ++i) {
      if (up_to(2) == 0) plan_.indices.push_back(plan_.token_at(segment.keys, i));
    }
    segment.skip_end = static_cast<std::int64_t>(plan_.indices.size());
  }

  std::mt19937 engine_;
  AttentionPlan plan_;
};

TEST(PlanCountsAndRowIntervals, MatchTheDefinitionForEveryKindOfRunAndSegment) {
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    PlanMaker maker(seed);
    const AttentionPlan plan = maker.make();
    const Task& task = plan.tasks[0];
    const TokenRange rows{maker.up_to(20), 20 + maker.up_to(20)};
    const TokenRange cols{maker.up_to(20), 20 + maker.up_to(20)};
    std::int64_t pairs = 0, pairs_inside = 0;
    std::set<std::int64_t> seeing, seen;
    for (std::int64_t i = 0; i < task.queries.size(); ++i) {
      const std::int64_t query = plan.token_at(task.queries, i);
      std::vector<TokenRange> expected, intervals;
      for (std::int64_t key = 0; key < tokens; ++key) {
        if (!sees(plan, plan.segments[0], query, key)) continue;
        ++pairs;
        const bool inside =
            query >= rows.begin && query < rows.end && key >= cols.begin && key < cols.end;
        pairs_inside += inside ? 1 : 0;
        seeing.insert(query);
        seen.insert(key);
        if (expected.empty() || expected.back().end != key) expected.push_back({key, key});
        expected.back().end = key + 1;
      }
      append_key_intervals(plan, plan.segments[0], query, intervals);
      ASSERT_EQ(intervals, expected) << "row " << query;
      ASSERT_EQ(key_intervals(plan, task, query), expected) << "row " << query;
    }
    ASSERT_EQ(count(plan).pairs, pairs);
    ASSERT_EQ(count(plan).query_rows, static_cast<std::int64_t>(seeing.size()));
    ASSERT_EQ(pairs_within(plan, task, rows, cols), pairs_inside);
    ASSERT_EQ(least_bytes(plan, 4, DType::float16),
              static_cast<double>(2 * (seeing.size() + seen.size()) * 4 * 2));
  }
}

TEST(RowIntervals, AppendingKeepsEarlierIntervals) {
  const AttentionPlan plan{
      .tokens = 9, .heads = 1, .tasks = {}, .segments = {}, .indices = {4, 5, 8}};
  std::vector<TokenRange> intervals{{0, 4}};
  append_key_intervals(plan, {.keys = {0, 3, true}}, 0, intervals);
  EXPECT_THAT(intervals, ElementsAre(TokenRange{0, 4}, TokenRange{4, 6}, TokenRange{8, 9}));
}

TEST(RowIntervals, NeighbouringSegmentsOfATaskMakeOneInterval) {
  const AttentionPlan plan{
      .tokens = 9,
      .heads = 1,
      .tasks = {{.queries = {4, 5}, .heads = {0, 1}, .first_segment = 0, .segment_count = 2}},
      .segments = {{.keys = {3, 9}, .kind = SegmentKind::band, .window = 1}, {.keys = {0, 3}}},
      .indices = {}};
  EXPECT_THAT(key_intervals(plan, plan.tasks[0], 4), ElementsAre(TokenRange{0, 6}));
}

AttentionPlan compiled(std::string_view pattern, std::int64_t document, std::int32_t heads) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 10, .documents = {document}});
  return compile_plan(find_pattern(pattern).value(), Window::of(64), layout, heads).value();
}

TEST(PlanCounts, AMillionTokensAreCountedExactly) {
  const std::int64_t n = 1'000'000;
  const std::int64_t w = 64;
  const std::int64_t band = n * (2 * w + 1) - w * (w + 1);
  EXPECT_EQ(count(compiled("sparse", n, 12)).pairs, 12 * ((n + 11) + 10 * 10 + 11 * n + band));
  EXPECT_EQ(count(compiled("full", n, 12)).pairs, 12 * (n + 11) * (n + 11));
  EXPECT_EQ(count(compiled("sparse", n, 12)).query_rows, 12 * (n + 11));
}

TEST(PlanCounts, TheLargestBatchDoesNotOverflow) {
  const std::int64_t n = SequenceLayout::max_tokens;
  EXPECT_EQ(count(compiled("full", n - 11, 512)).pairs, 512 * n * n);
}

TEST(PlanCounts, HeadsWithDifferentKeysAreCountedSeparately) {
  const AttentionPlan plan{
      .tokens = 10,
      .heads = 3,
      .tasks = {{.queries = {0, 10}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1},
                {.queries = {0, 4}, .heads = {1, 3}, .first_segment = 1, .segment_count = 1},
                {.queries = {4, 10}, .heads = {1, 3}, .first_segment = 0, .segment_count = 0}},
      .segments = {{.keys = {0, 10}}, {.keys = {2, 5}}},
      .indices = {}};
  EXPECT_EQ(count(plan).pairs, 100 + 2 * 12);
  EXPECT_EQ(count(plan).query_rows, 10 + 2 * 4);
  EXPECT_EQ(least_bytes(plan, 1, DType::float32), 4.0 * 2 * ((10 + 2 * 4) + (10 + 2 * 3)));
}

TEST(PlanCounts, WorkOfEachPassFollowsFromPairsAndTokens) {
  const AttentionPlan plan = compiled("full", 89, 2);  // 100 tokens
  const PlanCounts counts = count(plan);
  EXPECT_EQ(counts.exponentials, 2 * 100 * 100);
  EXPECT_EQ(useful_exponentials(counts), 2.0 * 100 * 100);
  EXPECT_EQ(useful_flop(counts, 32), 4.0 * 32 * 2 * 100 * 100);
  EXPECT_EQ(least_bytes(plan, 32, DType::bfloat16), 4.0 * 100 * 2 * 32 * 2);
  // The backward pass adds five products; q, k, v, o, grad_o, grad_q, grad_k and grad_v once.
  EXPECT_EQ(useful_exponentials(counts, Passes::forward_backward), 2.0 * 2 * 100 * 100);
  EXPECT_EQ(useful_flop(counts, 32, Passes::forward_backward), 14.0 * 32 * 2 * 100 * 100);
  EXPECT_EQ(least_bytes(plan, 32, DType::bfloat16, Passes::forward_backward),
            12.0 * 100 * 2 * 32 * 2);
}

TEST(PlanCounts, EmptyPlanHasNoWork) {
  EXPECT_EQ(count({}).pairs, 0);
  EXPECT_EQ(least_bytes({}, 32, DType::float32), 0.0);
}

}  // namespace
}  // namespace attnscope
