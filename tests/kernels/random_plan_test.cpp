// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward passes on plans drawn at random, against the plans' own intervals.
#include "tests/kernels/random_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/pattern/axes.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/windowed_gradient_case.h"

namespace attnscope::testing {
namespace {

constexpr std::array dtypes{DType::float32, DType::float16, DType::bfloat16};
constexpr std::array head_dims{8, 20, 32};

/// Numbers of the form that the seed stands for; all forms come in turn.
Inputs inputs_of(const AttentionPlan& plan, unsigned seed) {
  return random_inputs(plan.tokens, plan.heads, head_dims.at(seed % 3),
                       seed % 2 == 0 ? Order::token_major : Order::head_major, 0, seed,
                       dtypes.at(seed / 3 % 3));
}

class RandomPlans : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Kernels, RandomPlans, ::testing::Range(0U, 120U, 20U));

TEST_P(RandomPlans, Outputs_MatchTheReference) {
  for (unsigned seed = GetParam(); seed < GetParam() + 20; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    const Inputs in = inputs_of(plan, seed);
    const Reference expected = reference(keys_from_plan(plan), in);
    for_each_instruction_set([&](cpu::InstructionSet set) {
      for (const Kernel kernel : {Kernel::segment, Kernel::windowed}) {
        if (kernel == Kernel::windowed && !cpu::windowed_supports(plan, in.q.head_dim)) continue;
        expect_near(run(kernel, plan, in, 1), expected, in.q.head_dim,
                    fmt::format("seed {} {} {} {}\n{}", seed, name_of(kernel), cpu::name_of(set),
                                attnscope::name_of(in.q.dtype), text_of(plan)));
      }
    });
  }
}

TEST_P(RandomPlans, Gradients_MatchTheReference) {
  for (unsigned seed = GetParam(); seed < GetParam() + 20; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    const Inputs in = inputs_of(plan, seed);
    const std::string what = fmt::format("seed {}\n{}", seed, text_of(plan));
    expect_gradients_right(plan, in, keys_from_plan(plan), what);
    if (cpu::windowed_supports(plan, in.q.head_dim)) {
      expect_windowed_gradients_right(plan, in, keys_from_plan(plan), what);
    }
  }
}

TEST_P(RandomPlans, ThreadsChangeNoBit) {
  for (unsigned seed = GetParam(); seed < GetParam() + 20; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    const BackwardCase problem = backward_case(plan, inputs_of(plan, seed));
    const Outputs with_three = run(Kernel::segment, plan, problem.in, 3);
    EXPECT_EQ(problem.forward.o.data, with_three.o.data) << "seed " << seed;
    EXPECT_EQ(problem.forward.lse, with_three.lse) << "seed " << seed;
    EXPECT_TRUE(same_bits(run_backward(plan, problem, 1), run_backward(plan, problem, 3)))
        << "seed " << seed << "\n"
        << text_of(plan);
  }
}

}  // namespace
}  // namespace attnscope::testing
