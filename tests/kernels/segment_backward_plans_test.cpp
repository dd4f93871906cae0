// SPDX-License-Identifier: Apache-2.0
//
// segment_backward on plans written by hand, against the plans' own intervals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/pattern/axes.h"
#include "kernels/plan/row_intervals.h"
#include "tests/kernels/gradient_case.h"
#include "tests/kernels/hand_made_plans.h"

namespace attnscope::testing {
namespace {

class SegmentBackwardOnPlans : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Gradients, SegmentBackwardOnPlans,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(SegmentBackwardOnPlans, MadeByHand_MatchesTheReference) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    const KeysOf keys = keys_from_plan(plan);
    for (const std::int64_t d : {20, 32}) {
      for (const Order order : {Order::token_major, Order::head_major}) {
        const Inputs in = random_inputs(plan.tokens, plan.heads, d, order, 0, 3, GetParam());
        expect_gradients_right(plan, in, keys, fmt::format("{} d={} {}", name, d, name_of(order)));
      }
    }
  }
}

TEST(SegmentBackwardOfUnseenTokens, IsExactlyZero) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    const KeysOf keys = keys_from_plan(plan);
    const BackwardCase problem =
        backward_case(plan, random_inputs(plan.tokens, plan.heads, 8, Order::head_major, 0, 3));
    std::vector<bool> sees(problem.forward.lse.size()), seen(problem.forward.lse.size());
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
      for (std::int32_t h = 0; h < plan.heads; ++h) {
        for (const std::int64_t key : keys(t, h)) {
          sees[static_cast<std::size_t>(t * plan.heads + h)] = true;
          seen[static_cast<std::size_t>(key * plan.heads + h)] = true;
        }
      }
    }
    for_each_instruction_set([&](cpu::InstructionSet set) {
      const Gradients gradients = run_backward(plan, problem);
      for (std::int64_t t = 0; t < plan.tokens; ++t) {
        for (std::int64_t h = 0; h < plan.heads; ++h) {
          for (std::int64_t x = 0; x < 8; ++x) {
            if (!sees[static_cast<std::size_t>(t * plan.heads + h)]) {
              ASSERT_EQ(gradients.q.at(t, h, x), 0) << cpu::name_of(set) << " " << name << " " << t;
            }
            if (!seen[static_cast<std::size_t>(t * plan.heads + h)]) {
              ASSERT_EQ(gradients.k.at(t, h, x), 0) << cpu::name_of(set) << " " << name << " " << t;
              ASSERT_EQ(gradients.v.at(t, h, x), 0) << cpu::name_of(set) << " " << name << " " << t;
            }
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace attnscope::testing
