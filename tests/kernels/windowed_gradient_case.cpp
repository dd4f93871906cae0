// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/windowed_gradient_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/windowed.h"
#include "tests/kernels/guarded_workspace.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

Gradients run_windowed_backward(const AttentionPlan& plan, const Inputs& inputs,
                                const Packed& grad_o, int threads) {
  const std::int64_t d = inputs.q.head_dim;
  const Packed empty = like(inputs.q, nan);
  Packed o = empty;
  GuardedWorkspace weights(cpu::windowed_score_elements(plan) * 4);
  const Status before =
      cpu::windowed_forward(plan, inputs.q.view(), inputs.k.view(), inputs.v.view(), scale_of(d),
                            o.tensor(), {}, threads, weights.floats());
  EXPECT_TRUE(before) << before.error().message;
  const std::vector<std::byte> kept(weights.bytes().begin(), weights.bytes().end());
  Gradients out{empty, empty, empty};
  GuardedWorkspace workspace(cpu::windowed_backward_elements(plan, d) * 4);
  const GradientTensors tensors{.q = inputs.q.view(),
                                .k = inputs.k.view(),
                                .v = inputs.v.view(),
                                .o = o.view(),
                                .lse = {},
                                .grad_o = grad_o.view(),
                                .grad_q = out.q.tensor(),
                                .grad_k = out.k.tensor(),
                                .grad_v = out.v.tensor()};
  const Status done = cpu::windowed_backward(plan, tensors, scale_of(d), weights.floats(), threads,
                                             workspace.floats());
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(workspace.guards_are_intact());
  EXPECT_EQ(0, std::memcmp(kept.data(), weights.bytes().data(), kept.size()));
  for (const Packed* gradient : {&out.q, &out.k, &out.v}) {
    EXPECT_TRUE(gaps_are_untouched(*gradient));
  }
  return out;
}

void expect_windowed_gradients_right(const AttentionPlan& plan, const Inputs& inputs,
                                     const KeysOf& keys, const std::string& what) {
  const Packed grad_o = random_like(inputs.q, 7);
  ExactCase values{Values(inputs.q), Values(inputs.k), Values(inputs.v), Values(inputs.q),
                   Values(grad_o)};
  values.o = reference_output(keys, values);
  const ReferenceGradients expected = reference_gradients(keys, values);
  for_each_instruction_set([&](cpu::InstructionSet set) {
    expect_near(run_windowed_backward(plan, inputs, grad_o), expected,
                fmt::format("{} {}", cpu::name_of(set), what));
  });
}

void expect_windowed_gradients_right(const AttentionCase& problem) {
  expect_windowed_gradients_right(problem.plan(), random_inputs(problem), problem.keys(),
                                  problem.text());
}

}  // namespace attnscope::testing
