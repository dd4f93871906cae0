// SPDX-License-Identifier: Apache-2.0
//
// The three steps on plans, forward and backward, against the float64 reference.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/cuda_on_host/emulator.h"
#include "tests/cuda_on_host/windowed_case.h"
#include "tests/kernels/confined.h"
#include "tests/kernels/hand_made_plans.h"
#include "tests/kernels/random_plan.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

SequenceLayout two_items() {
  return layout_of({{.cls = 1, .query = 5, .documents = {70}, .sentences = {0, 30, 60}},
                    {.cls = 1, .query = 4, .documents = {23}, .sentences = {0, 11}}});
}

class CudaWindowedAttention : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, CudaWindowedAttention,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(CudaWindowedAttention, OnTheBuiltInPatterns_IsRight) {
  for (const char* pattern : built_in_patterns) {
    for (const std::int64_t w : {0, 4, 40}) {
      expect_cuda_windowed_right({.pattern = pattern,
                                  .window = Window::of(w),
                                  .layout = two_items(),
                                  .head_dim = 16,
                                  .order = w == 4 ? Order::token_major : Order::head_major,
                                  .dtype = GetParam()});
    }
  }
}

TEST_P(CudaWindowedAttention, OfEveryHeadDimension_IsRight) {
  for (const std::int64_t d : {8, 20, 32, 33, 64, 100, 256}) {
    expect_cuda_windowed_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {40}}}),
                                .heads = 1,
                                .head_dim = d,
                                .dtype = GetParam()});
  }
}

TEST_P(CudaWindowedAttention, OnEqualItemsInHeadMajorOrder_IsRight) {
  expect_cuda_windowed_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {40}},
                                                   {.cls = 1, .query = 3, .documents = {40}}}),
                              .order = Order::head_major_items,
                              .dtype = GetParam()});
}

TEST_P(CudaWindowedAttention, OnPlansMadeByHand_IsRight) {
  for (const HandMadePlan& made : hand_made_plans()) {
    if (made.windows_over_listed_keys) continue;
    const Inputs inputs =
        random_inputs(made.plan.tokens, made.plan.heads, 32, Order::token_major, 0, 3, GetParam());
    expect_cuda_windowed_right(made.plan, inputs, keys_from_plan(made.plan), made.name);
  }
}

TEST_P(CudaWindowedAttention, OnRandomPlans_IsRight) {
  int tried = 0;
  for (unsigned seed = 1; seed <= 200 && tried < 8; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    if (!cuda::windowed_supports(plan, 16)) continue;
    ++tried;
    const Inputs inputs =
        random_inputs(plan.tokens, plan.heads, 16, Order::head_major, 0, seed, GetParam());
    expect_cuda_windowed_right(plan, inputs, keys_from_plan(plan), text_of(plan));
  }
  EXPECT_EQ(tried, 8);
}

TEST_P(CudaWindowedAttention, WhereOneRowSeesALongDocument_IsRight) {
  // [CLS] sees 2,004 keys and 2,004 rows see [CLS] and the query: both are split over blocks.
  expect_cuda_windowed_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {2000}}}),
                              .heads = 1,
                              .head_dim = 16,
                              .dtype = GetParam()});
}

TEST_P(CudaWindowedAttention, OnAQuerySharedByDocuments_IsRight) {
  std::vector<LayoutItem> items(20, {.cls = 1, .documents = {50}});
  expect_cuda_windowed_right(
      {.layout = layout_of(items, 7), .heads = 1, .head_dim = 16, .dtype = GetParam()});
}

TEST_P(CudaWindowedAttention, OfPlantedNaN_ShowsItInRowsThatSeeItAlone) {
  for (const char* name : {"sparse", "qds"}) {
    const AttentionCase problem{.pattern = name, .layout = two_items(), .dtype = GetParam()};
    const AttentionPlan plan = problem.plan();
    const Inputs clean_inputs = random_inputs(problem);
    const Outputs clean = run_cuda_windowed(plan, clean_inputs);
    for (const std::int64_t planted : {0, 3, 36, 40, 76, 103}) {
      Inputs inputs = clean_inputs;
      for (std::int64_t h = 0; h < problem.heads; ++h) {
        inputs.k.at(planted, h, 3) = inputs.v.at(planted, h, 4) = nan;
      }
      const Outputs dirty = run_cuda_windowed(plan, inputs);
      expect_confined(problem, clean, dirty, planted, fmt::format("{} {}", name, planted));
    }
  }
}

TEST_P(CudaWindowedAttention, InAnotherOrderOfBlocksAndThreads_KeepsEveryBit) {
  const AttentionCase problem{.pattern = "qds", .layout = two_items(), .dtype = GetParam()};
  const AttentionPlan plan = problem.plan();
  const Inputs inputs = random_inputs(problem);
  const Packed grad_o = random_like(inputs.q, 7);
  const Outputs first = run_cuda_windowed(plan, inputs);
  const Gradients gradients = run_cuda_windowed_backward(plan, inputs, grad_o);
  for (const std::uint64_t seed : {2, 3, 4}) {
    on_host::set_seed(seed);
    const Outputs again = run_cuda_windowed(plan, inputs);
    EXPECT_EQ(first.o.data, again.o.data);
    EXPECT_EQ(first.lse, again.lse);
    EXPECT_TRUE(same_bits(gradients, run_cuda_windowed_backward(plan, inputs, grad_o)));
  }
}

TEST(CudaWindowedPlans, ThatTheKernelsDecline_AreErrorsWithTheReason) {
  for (const HandMadePlan& made : hand_made_plans()) {
    if (!made.windows_over_listed_keys) continue;
    const Status status = cuda::windowed_supports(made.plan, 32);
    ASSERT_FALSE(status) << made.name;
    EXPECT_NE(status.error().message.find("listed keys"), std::string::npos);
    EXPECT_FALSE(cuda::windowed_work(made.plan, 32, DType::float32, Passes::forward));
  }
}

}  // namespace
}  // namespace attnscope::testing
