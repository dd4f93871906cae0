// SPDX-License-Identifier: Apache-2.0
//
// The fused kernels on plans that no pattern gives: made by hand, and drawn at random.
#include <gtest/gtest.h>

#include <array>

#include "tests/cuda_on_host/emulator.h"
#include "tests/cuda_on_host/segment_case.h"
#include "tests/kernels/hand_made_plans.h"
#include "tests/kernels/random_plan.h"

namespace attnscope::testing {
namespace {

constexpr std::array dtypes{DType::float32, DType::float16, DType::bfloat16};
constexpr std::array head_dims{8, 20, 32};

TEST(CudaSegment, OnPlansMadeByHand_IsRight) {
  for (const HandMadePlan& made : hand_made_plans()) {
    for (const DType dtype : dtypes) {
      const Inputs inputs =
          random_inputs(made.plan.tokens, made.plan.heads, 32, Order::token_major, 0, 3, dtype);
      expect_cuda_segment_right(made.plan, inputs, keys_from_plan(made.plan), Place::token_major,
                                made.name);
    }
  }
}

TEST(CudaSegment, OnRandomPlans_IsRight) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    on_host::set_seed(seed);
    const Inputs inputs = random_inputs(plan.tokens, plan.heads, head_dims.at(seed % 3),
                                        Order::token_major, 0, seed, dtypes.at(seed / 3 % 3));
    expect_cuda_segment_right(plan, inputs, keys_from_plan(plan), places.at(seed % places.size()),
                              "seed " + std::to_string(seed) + "\n" + text_of(plan));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace attnscope::testing
