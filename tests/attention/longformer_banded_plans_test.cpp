// SPDX-License-Identifier: Apache-2.0
//
// The banded loops on plans that no pattern gives, on every instruction set, against the float64
// reference.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/attention/longformer_banded/on_cpu.h"
#include "engine/pattern/oracle.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/kernels/gradient_case.h"
#include "tests/kernels/hand_made_plans.h"
#include "tests/kernels/random_plan.h"

namespace attnscope::testing {
namespace {

using longformer_banded::BandOnCpu;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

void expect_done(const Status& status) {
  ASSERT_TRUE(status) << status.error().message;
}

struct Band {
  explicit Band(const AttentionPlan& plan)
      : band(plan, Passes::forward_backward),
        scores(static_cast<std::size_t>(windowed_score_elements(plan)), nan) {}

  [[nodiscard]] Outputs forward(const Inputs& in) {
    Outputs out{like(in.q, nan),
                std::vector<float>(static_cast<std::size_t>(in.q.tokens * in.q.heads), nan)};
    expect_done(band.forward(call(in), {.q = in.q.view(), .k = in.k.view(), .v = in.v.view()},
                             out.o.tensor(), out.lse));
    EXPECT_TRUE(gaps_are_untouched(out.o));
    return out;
  }

  [[nodiscard]] Gradients backward(const Inputs& in, const Packed& o, const Packed& grad_o) {
    Gradients out{like(in.q, nan), like(in.q, nan), like(in.q, nan)};
    expect_done(band.backward(call(in), {.q = in.q.view(),
                                         .k = in.k.view(),
                                         .v = in.v.view(),
                                         .o = o.view(),
                                         .lse = {},
                                         .grad_o = grad_o.view(),
                                         .grad_q = out.q.tensor(),
                                         .grad_k = out.k.tensor(),
                                         .grad_v = out.v.tensor()}));
    for (const Packed* gradient : {&out.q, &out.k, &out.v}) {
      EXPECT_TRUE(gaps_are_untouched(*gradient));
    }
    return out;
  }

  [[nodiscard]] longformer_banded::BandCall call(const Inputs& in) {
    return {.scale = scale_of(in.q.head_dim), .threads = 2, .scores = scores.data()};
  }

  BandOnCpu band;
  std::vector<float> scores;
};

void expect_right(const AttentionPlan& plan, const Inputs& inputs, const std::string& what) {
  const KeysOf keys = keys_from_plan(plan);
  const Packed grad_o = random_like(inputs.q, 7);
  for_each_instruction_set([&](cpu::InstructionSet set) {
    if (set != cpu::InstructionSet::baseline && set != cpu::InstructionSet::avx2) return;
    Band band(plan);
    const Outputs outputs = band.forward(inputs);
    expect_near(outputs, reference(keys, inputs), inputs.q.head_dim, what);
    const ExactCase values{Values(inputs.q), Values(inputs.k), Values(inputs.v), Values(outputs.o),
                           Values(grad_o)};
    expect_near(band.backward(inputs, outputs.o, grad_o), reference_gradients(keys, values), what);
  });
}

class BandedLoops : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, BandedLoops,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(BandedLoops, OnPlansMadeByHand_AreRight) {
  for (const HandMadePlan& made : hand_made_plans()) {
    if (made.windows_over_listed_keys) continue;
    const AttentionPlan& plan = made.plan;
    expect_right(plan,
                 random_inputs(plan.tokens, plan.heads, 32, Order::token_major, 0, 3, GetParam()),
                 made.name);
  }
}

TEST_P(BandedLoops, OnRandomPlans_AreRight) {
  int tried = 0;
  for (unsigned seed = 1; seed <= 200 && tried < 20; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    constexpr std::int64_t soon_done = 200'000;
    if (!has_windowed_layout(plan, soon_done)) continue;
    ++tried;
    expect_right(plan,
                 random_inputs(plan.tokens, plan.heads, 17, Order::head_major, 0, seed, GetParam()),
                 text_of(plan));
  }
  EXPECT_EQ(tried, 20);
}

TEST_P(BandedLoops, OfPlantedNaN_ShowItInRowsThatSeeItAlone) {
  const AttentionCase problem{
      .pattern = "qds",
      .layout = layout_of({{.cls = 1, .query = 5, .documents = {70}, .sentences = {0, 30, 60}}}),
      .dtype = GetParam()};
  const auto found = find_pattern(problem.pattern);
  const Oracle oracle(*found, problem.window, problem.layout);
  const AttentionPlan plan = problem.plan();
  const Inputs clean_inputs = random_inputs(problem);
  const Outputs clean = Band(plan).forward(clean_inputs);
  for (const std::int64_t planted : {0, 3, 20, 36, 75}) {
    Inputs inputs = clean_inputs;
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      inputs.k.at(planted, h, 3) = inputs.v.at(planted, h, 4) = nan;
    }
    const Outputs dirty = Band(plan).forward(inputs);
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
      for (std::int32_t h = 0; h < problem.heads; ++h) {
        const auto row = static_cast<std::size_t>(t * problem.heads + h);
        if (oracle.allowed(h, t, planted)) {
          ASSERT_TRUE(std::isnan(dirty.o.at(t, h, 4))) << planted << " row " << t;
          ASSERT_TRUE(std::isnan(dirty.lse[row])) << planted << " row " << t;
          continue;
        }
        for (std::int64_t x = 0; x < problem.head_dim; ++x) {
          ASSERT_EQ(clean.o.at(t, h, x), dirty.o.at(t, h, x)) << planted << " row " << t;
        }
        ASSERT_EQ(clean.lse[row], dirty.lse[row]) << planted << " row " << t;
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
