// SPDX-License-Identifier: Apache-2.0
//
// segment_backward where the plan is cut: long documents in strips and chunks, windows beyond a
// strip's halo, a million tokens; and the same bits for any number of threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/pattern/axes.h"
#include "kernels/cpu/segment.h"
#include "tests/kernels/gradient_case.h"
#include "tests/kernels/hand_made_plans.h"

namespace attnscope::testing {
namespace {

SequenceLayout one_document(std::int64_t query, std::int64_t tokens) {
  return SequenceLayout::uniform(1, {.cls = 1, .query = query, .documents = {tokens}});
}

/// Against the plan's intervals: the oracle's pairs are too many.
void expect_right_by_plan(const AttentionCase& problem) {
  const AttentionPlan plan = problem.plan();
  expect_gradients_right(plan, random_inputs(problem), keys_from_plan(plan), problem.text());
}

TEST(LongDocuments, InManyStrips_MatchTheReference) {
  for (const std::string pattern : {"sparse", "longformer", "qds"}) {
    for (const std::int64_t w : {0, 4, 70, 1500}) {
      expect_right_by_plan({.pattern = pattern,
                            .window = Window::of(w),
                            .layout = one_document(3, 2800),
                            .heads = 1,
                            .head_dim = 8});
    }
  }
}

TEST(LongDocuments, OfWideHeads_MatchTheReference) {
  // Strips are shortest here, and windows reach beyond what is packed beside them.
  for (const std::int64_t w : {30, 127, 128, 129, 200, 600}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_right_by_plan({.window = Window::of(w),
                            .layout = one_document(3, 800),
                            .heads = 1,
                            .head_dim = 256,
                            .order = order});
    }
  }
}

TEST(LongDocuments, BesideASharedQuery_MatchTheReference) {
  // [CLS] rows see the shared query beside their own item, which is cut into strips.
  const SequenceLayout layout = *SequenceLayout::make({{.cls = 1, .documents = {900}},
                                                       {.cls = 1, .documents = {5}},
                                                       {.cls = 1, .documents = {600}}},
                                                      7);
  for (const std::int64_t d : {8, 64}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_gradients_right({.layout = layout, .heads = 1, .head_dim = d, .order = order});
    }
  }
}

TEST(LongDocuments, TwentyThousandTokens_MatchTheReference) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    expect_right_by_plan({.layout = one_document(11, 20'000 - 12), .heads = 1, .dtype = dtype});
  }
}

/// What a workspace may hold beside one tile a thread, in bytes.
std::int64_t most_partial_bytes(std::int64_t heads, std::int64_t shared_rows, std::int64_t d) {
  constexpr std::int64_t most_chunks = 64;
  return most_chunks * heads * shared_rows * 2 * (d + 16) * 4;
}

TEST(LongDocuments, GrowTheWorkspaceNoFurtherThanTheirChunks) {
  for (const std::string pattern : {"sparse", "longformer"}) {
    std::int64_t before = 0;
    for (const std::int64_t tokens : {100'000, 1'000'000, 10'000'000}) {
      const AttentionPlan plan =
          AttentionCase{.pattern = pattern, .layout = one_document(11, tokens - 12), .heads = 1}
              .plan();
      const std::int64_t forward = cpu::segment_workspace_bytes(plan, 8, 2);
      const std::int64_t backward = cpu::segment_backward_workspace_bytes(plan, 8, 2);
      EXPECT_LE(forward, 2'000'000 + most_partial_bytes(1, 2 * 12, 8)) << pattern << tokens;
      EXPECT_LE(backward, 2'000'000 + most_partial_bytes(1, 2 * 12, 8)) << pattern << tokens;
      EXPECT_TRUE(before == 0 || backward == before) << pattern << " " << tokens;
      before = backward;
    }
  }
}

TEST(LongDocuments, GrowTheWorkspaceByThreadsAlone) {
  const AttentionPlan plan = AttentionCase{.layout = one_document(11, 100'000)}.plan();
  const auto bytes = [&](int threads) {
    return cpu::segment_backward_workspace_bytes(plan, 32, threads);
  };
  EXPECT_EQ(bytes(3) - bytes(2), bytes(2) - bytes(1));
  EXPECT_LE(bytes(2) - bytes(1), 4'000'000);
}

TEST(LongDocuments, AMillionTokens_MatchTheReference) {
  const AttentionCase problem{
      .layout = one_document(11, 1'000'000 - 12), .heads = 1, .head_dim = 8};
  const AttentionPlan plan = problem.plan();
  const BackwardCase backward = backward_case(plan, random_inputs(problem));
  const ReferenceGradients expected = reference_gradients(keys_from_plan(plan), exact(backward));
  expect_near(run_backward(plan, backward, 2), expected, "a million tokens");
}

TEST(Threads, NeitherTheirNumberNorARepeat_ChangesABitOfTheGradients) {
  const SequenceLayout long_and_short =
      *SequenceLayout::make({{.cls = 1, .query = 11, .documents = {5000}},
                             {.cls = 1, .query = 3, .documents = {50}},
                             {.cls = 1, .query = 11, .documents = {300, 7}}});
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::string pattern : {"sparse", "qds", "longformer"}) {
      const AttentionCase problem{
          .pattern = pattern, .layout = long_and_short, .head_dim = 16, .dtype = dtype};
      const AttentionPlan plan = problem.plan();
      for_each_instruction_set([&](cpu::InstructionSet set) {
        const BackwardCase backward = backward_case(plan, random_inputs(problem));
        const Gradients one = run_backward(plan, backward, 1);
        for (const int threads : {1, 2, 3, 7}) {
          EXPECT_TRUE(same_bits(one, run_backward(plan, backward, threads)))
              << cpu::name_of(set) << " " << problem.text() << " with " << threads << " threads";
        }
      });
    }
  }
}

TEST(Threads, OnHandMadePlansAndASharedQuery_ChangeNoBit) {
  std::vector<HandMadePlan> plans = hand_made_plans();
  std::vector<LayoutItem> items(200, {.cls = 1, .documents = {19}});
  plans.push_back(
      {"shared query", AttentionCase{.layout = *SequenceLayout::make(std::move(items), 5)}.plan()});
  for (const auto& [name, plan, fused_only] : plans) {
    const BackwardCase backward =
        backward_case(plan, random_inputs(plan.tokens, plan.heads, 8, Order::token_major, 0, 3));
    const Gradients one = run_backward(plan, backward, 1);
    for (const int threads : {1, 2, 3}) {
      EXPECT_TRUE(same_bits(one, run_backward(plan, backward, threads)))
          << name << " with " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
