// SPDX-License-Identifier: Apache-2.0
//
// Few rows over many keys, which are split over chunks of keys; and the same bits for any number of
// threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/segment.h"
#include "kernels/plan/row_intervals.h"
#include "tests/kernels/attention_case.h"

namespace attnscope::testing {
namespace {

bool same_bits(const Outputs& a, const Outputs& b) {
  return a.o.data == b.o.data &&
         std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

/// A few of the task's rows against float64.
void expect_rows_near(const AttentionPlan& plan, const Inputs& inputs, const Outputs& out,
                      const std::vector<std::int64_t>& rows) {
  const std::int64_t d = inputs.q.head_dim;
  std::vector<double> o(static_cast<std::size_t>(d));
  for (const Task& task : plan.tasks) {
    for (const std::int64_t token : rows) {
      if (task.queries.listed || token < task.queries.begin || token >= task.queries.end) continue;
      std::vector<std::int64_t> keys;
      for (const TokenRange& range : key_intervals(plan, task, token)) {
        for (std::int64_t j = range.begin; j < range.end; ++j) keys.push_back(j);
      }
      for (std::int64_t h = task.heads.begin; h < task.heads.end; ++h) {
        double lse = 0;
        reference_row(inputs, token, h, keys, o.data(), lse);
        EXPECT_NEAR(out.lse[static_cast<std::size_t>(token * plan.heads + h)], lse, 1e-5);
        for (std::int64_t x = 0; x < d; ++x) {
          ASSERT_NEAR(out.o.at(token, h, x), o[static_cast<std::size_t>(x)], 1e-5)
              << "token " << token << " head " << h;
        }
      }
    }
  }
}

AttentionPlan few_rows_over_many_keys(std::int64_t rows, std::int64_t keys) {
  AttentionPlan plan{.tokens = keys, .heads = 2, .tasks = {}, .segments = {}, .indices = {}};
  for (std::int64_t t = 9; t < keys; t += 11) plan.indices.push_back(t);
  const auto skipped = static_cast<std::int64_t>(plan.indices.size());
  // Whole runs of a listed and two ranged kinds, the skipped keys being the listed ones.
  plan.segments = {{.keys = {0, 4}},
                   {.keys = {0, skipped, true}},
                   {.keys = {4, keys}, .skip_begin = 0, .skip_end = skipped}};
  plan.tasks = {
      {.queries = {0, rows}, .heads = {0, 2}, .item = 0, .first_segment = 0, .segment_count = 3},
      {.queries = {rows, keys},
       .heads = {0, 2},
       .item = 0,
       .first_segment = 0,
       .segment_count = 1}};
  return plan;
}

TEST(SplitRows, MatchTheReference) {
  for (const std::int64_t rows : {1, 3, 12, 32, 33}) {
    const AttentionPlan plan = few_rows_over_many_keys(rows, 9001);
    for (const Order order : {Order::token_major, Order::head_major}) {
      const Inputs inputs = random_inputs(plan.tokens, 2, 32, order, 0, 4);
      for_each_instruction_set([&](cpu::InstructionSet) {
        expect_rows_near(plan, inputs, run(Kernel::segment, plan, inputs, 2), {0, rows - 1, rows});
      });
    }
  }
}

TEST(SplitRows, NaNInASkippedKey_IsSeenOnlyWhereItIsListed) {
  AttentionPlan plan = few_rows_over_many_keys(3, 9001);
  plan.tasks[0].first_segment = 2;  // without the listed keys
  plan.tasks[0].segment_count = 1;
  Inputs inputs = random_inputs(plan.tokens, 2, 32, Order::head_major, 0, 4);
  for (const std::int64_t t : {9, 9 + 11 * 400}) {
    inputs.k.at(t, 0, 1) = inputs.v.at(t, 1, 1) = std::numeric_limits<float>::quiet_NaN();
  }
  for_each_instruction_set([&](cpu::InstructionSet) {
    expect_rows_near(plan, inputs, run(Kernel::segment, plan, inputs, 2), {0, 1, 2});
  });
}

class Threads : public ::testing::TestWithParam<Kernel> {};
INSTANTIATE_TEST_SUITE_P(Attention, Threads, ::testing::Values(Kernel::segment, Kernel::windowed),
                         [](const auto& parameter) {
                           return parameter.param == Kernel::segment ? "segment" : "windowed";
                         });

TEST_P(Threads, NeitherTheirNumberNorARepeat_ChangesABit) {
  const SequenceLayout long_and_short =
      *SequenceLayout::make({{.cls = 1, .query = 11, .documents = {5000}},
                             {.cls = 1, .query = 3, .documents = {50}},
                             {.cls = 1, .query = 11, .documents = {300}}});
  for (const std::string pattern : {"sparse", "qds", "longformer"}) {
    const AttentionCase problem{.pattern = pattern, .layout = long_and_short};
    const AttentionPlan plan = problem.plan();
    const Inputs inputs = random_inputs(problem);
    for_each_instruction_set([&](cpu::InstructionSet set) {
      const Outputs one = run(GetParam(), plan, inputs, 1);
      for (const int threads : {1, 2, 3, 7}) {
        EXPECT_TRUE(same_bits(one, run(GetParam(), plan, inputs, threads)))
            << cpu::name_of(set) << " " << pattern << " with " << threads << " threads";
      }
    });
  }
}

TEST(LongDocument, AMillionTokens_TakeLinearMemory) {
  const SequenceLayout layout =
      SequenceLayout::uniform(1, {.cls = 1, .query = 11, .documents = {1'000'000 - 12}});
  const AttentionCase problem{.layout = layout, .heads = 1, .head_dim = 8};
  const AttentionPlan plan = problem.plan();
  EXPECT_LT(cpu::segment_workspace_bytes(plan, 8, 2), 2'000'000);
  const Inputs inputs = random_inputs(problem);
  const Outputs out = run(Kernel::segment, plan, inputs, 2);
  expect_rows_near(plan, inputs, out, {0, 1, 12, 500'000, 999'999});
}

}  // namespace
}  // namespace attnscope::testing
