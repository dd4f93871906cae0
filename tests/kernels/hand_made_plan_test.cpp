// SPDX-License-Identifier: Apache-2.0
//
// Plans written by hand: blocks, heads that differ, rows without keys, windows over listed keys.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "kernels/plan/row_intervals.h"
#include "tests/kernels/attention_case.h"

namespace attnscope::testing {
namespace {

/// Float64 reference from the plan's own intervals.
Reference reference_of(const AttentionPlan& plan, const Inputs& inputs) {
  const std::int64_t d = inputs.q.head_dim;
  Reference r;
  r.o.resize(static_cast<std::size_t>(plan.tokens * plan.heads * d));
  r.lse.resize(static_cast<std::size_t>(plan.tokens * plan.heads));
  r.largest_value = 4;
  for (const Task& task : plan.tasks) {
    for (std::int64_t i = 0; i < task.queries.size(); ++i) {
      const std::int64_t token = plan.token_at(task.queries, i);
      std::vector<std::int64_t> keys;
      for (const TokenRange& range : key_intervals(plan, task, token)) {
        for (std::int64_t j = range.begin; j < range.end; ++j) keys.push_back(j);
      }
      for (std::int64_t h = task.heads.begin; h < task.heads.end; ++h) {
        const auto row = static_cast<std::size_t>(token * plan.heads + h);
        reference_row(inputs, token, h, keys, r.o.data() + row * static_cast<std::size_t>(d),
                      r.lse[row]);
      }
    }
  }
  return r;
}

void expect_plan_right(const AttentionPlan& plan, std::int64_t head_dim,
                       std::initializer_list<Kernel> kernels = {Kernel::segment,
                                                                Kernel::windowed}) {
  for (const Order order : {Order::token_major, Order::head_major}) {
    const Inputs inputs = random_inputs(plan.tokens, plan.heads, head_dim, order, 0, 3);
    const Reference expected = reference_of(plan, inputs);
    for_each_instruction_set([&](cpu::InstructionSet set) {
      for (const Kernel kernel : kernels) {
        expect_near(run(kernel, plan, inputs), expected, head_dim, std::string(cpu::name_of(set)));
      }
    });
  }
}

TEST(HandMadePlan, BlocksOfTheirOwnLength_MatchTheReference) {
  for (const std::int64_t block : {1, 7, 16, 50, 200}) {
    AttentionPlan plan{.tokens = 121, .heads = 2, .tasks = {}, .segments = {}, .indices = {}};
    plan.segments = {{.keys = {0, 1}},
                     {.keys = {1, 121}, .kind = SegmentKind::block, .window = block}};
    plan.tasks = {
        {.queries = {0, 1}, .heads = {0, 2}, .item = 0, .first_segment = 0, .segment_count = 1},
        {.queries = {1, 121}, .heads = {0, 2}, .item = 0, .first_segment = 0, .segment_count = 2}};
    expect_plan_right(plan, 32);
  }
}

TEST(HandMadePlan, OffsetsPutQueriesOppositeOtherKeys) {
  for (const std::int64_t offset : {-30, -5, 5, 60}) {
    AttentionPlan plan{.tokens = 100, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
    plan.segments = {
        {.keys = {20, 80}, .kind = SegmentKind::band, .window = 3, .offset = offset},
        {.keys = {85, 100}, .kind = SegmentKind::block, .window = 4, .offset = offset}};
    plan.tasks = {
        {.queries = {0, 100}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 2}};
    expect_plan_right(plan, 16);
  }
}

TEST(HandMadePlan, HeadsWithSegmentsOfTheirOwn_MatchTheReference) {
  AttentionPlan plan{.tokens = 64, .heads = 3, .tasks = {}, .segments = {}, .indices = {}};
  plan.segments = {{.keys = {0, 16}}, {.keys = {40, 56}}, {.keys = {48, 64}}, {.keys = {8, 9}}};
  plan.tasks = {
      {.queries = {0, 64}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 2},
      {.queries = {0, 64}, .heads = {1, 3}, .item = 0, .first_segment = 2, .segment_count = 2}};
  expect_plan_right(plan, 32);
}

TEST(HandMadePlan, RowsWithoutKeys_GiveZeroAndMinusInfinity) {
  AttentionPlan plan{.tokens = 40, .heads = 2, .tasks = {}, .segments = {}, .indices = {}};
  // The second task has no segment; of the first, rows far from keys 0 ... 4 see nothing.
  plan.segments = {{.keys = {0, 4}, .kind = SegmentKind::band, .window = 2}};
  plan.tasks = {
      {.queries = {0, 30}, .heads = {0, 2}, .item = 0, .first_segment = 0, .segment_count = 1},
      {.queries = {30, 40}, .heads = {0, 2}, .item = 0, .first_segment = 1, .segment_count = 0}};
  expect_plan_right(plan, 32);
}

TEST(HandMadePlan, SkippedKeysInWholeRuns_MatchTheReference) {
  AttentionPlan plan{.tokens = 70, .heads = 2, .tasks = {}, .segments = {}, .indices = {}};
  plan.indices = {0, 5, 6, 33, 69};
  plan.segments = {{.keys = {0, 70}, .skip_begin = 0, .skip_end = 5}};
  plan.tasks = {
      {.queries = {0, 1}, .heads = {0, 2}, .item = 0, .first_segment = 0, .segment_count = 1},
      {.queries = {1, 70}, .heads = {0, 2}, .item = 0, .first_segment = 0, .segment_count = 1}};
  expect_plan_right(plan, 32);
}

TEST(HandMadePlan, WindowsOverListedKeys_AreTheFusedKernelsAlone) {
  AttentionPlan plan{.tokens = 90, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
  for (std::int64_t t = 1; t < 90; t += 3) plan.indices.push_back(t);
  const auto listed = static_cast<std::int64_t>(plan.indices.size());
  plan.indices.insert(plan.indices.end(), {4, 52, 88});
  plan.segments = {{.keys = {0, listed, true},
                    .kind = SegmentKind::band,
                    .window = 9,
                    .skip_begin = listed,
                    .skip_end = listed + 3},
                   {.keys = {0, 1}}};
  plan.tasks = {
      {.queries = {0, 90}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 2}};
  expect_plan_right(plan, 32, {Kernel::segment});
  const Status windowed = cpu::windowed_supports(plan, 32);
  ASSERT_FALSE(windowed);
  EXPECT_NE(windowed.error().message.find("listed keys"), std::string::npos);
}

TEST(HandMadePlan, ListedQueriesOnABand_MatchTheReference) {
  AttentionPlan plan{.tokens = 200, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
  std::vector<std::int64_t> others;
  for (std::int64_t t = 0; t < 200; ++t) (t % 7 == 0 ? plan.indices : others).push_back(t);
  const auto cut = static_cast<std::int64_t>(plan.indices.size());
  plan.indices.insert(plan.indices.end(), others.begin(), others.end());
  plan.segments = {{.keys = {0, 200}, .kind = SegmentKind::band, .window = 5}};
  plan.tasks = {{.queries = {0, cut, true},
                 .heads = {0, 1},
                 .item = 0,
                 .first_segment = 0,
                 .segment_count = 1},
                {.queries = {cut, 200, true},
                 .heads = {0, 1},
                 .item = 0,
                 .first_segment = 0,
                 .segment_count = 1}};
  expect_plan_right(plan, 32);
}

}  // namespace
}  // namespace attnscope::testing
