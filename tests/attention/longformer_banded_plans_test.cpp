// SPDX-License-Identifier: Apache-2.0
//
// The banded loops on plans that no pattern produces, on each of their instruction sets, compared
// with the float64 reference.

#include <gtest/gtest.h>

#include "engine/attention/longformer_banded/on_cpu.h"
#include "engine/pattern/axes.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/kernels/plans.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

using longformer_banded::BandOnCpu;
constexpr std::int64_t most_scores = 200'000;

void expect_done(const Status& status) {
  EXPECT_TRUE(status) << status.error().message;
}

longformer_banded::BandCall call_of(const Packed& shape, const Call& call,
                                    std::vector<float>& scores) {
  return {.scale = scale_of(shape.head_dim), .threads = call.order, .scores = scores.data()};
}

Outputs forward(const AttentionPlan& plan, const Inputs& in, const Call& call) {
  Outputs out{like(in.q, nan),
              std::vector<float>(static_cast<std::size_t>(in.q.tokens * in.q.heads), nan),
              std::vector<float>(static_cast<std::size_t>(windowed_score_elements(plan)), nan)};
  BandOnCpu band(plan, Passes::forward_backward);
  expect_done(band.forward(call_of(in.q, call, out.scores),
                           {.q = in.q.view(), .k = in.k.view(), .v = in.v.view()}, out.o.tensor(),
                           out.lse));
  EXPECT_TRUE(gaps_are_untouched(out.o));
  return out;
}

/// Replaces the weights that forward wrote with the scores' gradients.
Gradients backward(const AttentionPlan& plan, const BackwardCase& problem, const Call& call) {
  const Inputs& in = problem.in;
  Gradients out{like(in.q, nan), like(in.q, nan), like(in.q, nan)};
  std::vector<float> scores = problem.forward.scores;
  BandOnCpu band(plan, Passes::forward_backward);
  expect_done(band.backward(call_of(in.q, call, scores), {.q = in.q.view(),
                                                          .k = in.k.view(),
                                                          .v = in.v.view(),
                                                          .o = problem.forward.o.view(),
                                                          .lse = {},
                                                          .grad_o = problem.grad_o.view(),
                                                          .grad_q = out.q.tensor(),
                                                          .grad_k = out.k.tensor(),
                                                          .grad_v = out.v.tensor()}));
  for (const Packed* gradient : {&out.q, &out.k, &out.v}) {
    EXPECT_TRUE(gaps_are_untouched(*gradient));
  }
  return out;
}

const Subject banded{
    .name = "banded",
    .supports = [](const AttentionPlan& plan,
                   std::int64_t) { return has_windowed_layout(plan, most_scores); },
    .forward = forward,
    .backward = backward,
    .for_each_build =
        [](const auto& body) {
          for_each_instruction_set([&](const std::string& set) {
            if (set == "baseline" || set == "avx2") body(set);
          });
        }};

class BandedLoops : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, BandedLoops, ::testing::ValuesIn(dtypes), name_of_dtype);

TEST_P(BandedLoops, MatchTheReferenceOnPlansMadeByHand) {
  for (const HandMadePlan& made : hand_made_plans()) {
    if (made.windows_over_listed_keys) continue;
    expect_right(banded, made.plan,
                 random_inputs(made.plan.tokens, made.plan.heads, 32, Order::token_major_apart, 0,
                               3, GetParam()),
                 keys_from_plan(made.plan), made.name);
  }
}

TEST_P(BandedLoops, MatchTheReferenceOnRandomPlans) {
  int tried = 0;
  for (unsigned seed = 1; seed <= 200 && tried < 20; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    if (!banded.supports(plan, 17)) continue;
    ++tried;
    expect_right(banded, plan,
                 random_inputs(plan.tokens, plan.heads, 17, Order::head_major, 0, seed, GetParam()),
                 keys_from_plan(plan), text_of(plan));
  }
  EXPECT_EQ(tried, 20);
}

TEST_P(BandedLoops, GiveTheSameBitsForAnyNumberOfThreads) {
  const AttentionCase problem{.pattern = "qds", .layout = two_items(), .dtype = GetParam()};
  expect_same_bits(banded, problem.plan(), problem.inputs(), {2, 3, 7}, problem.text());
}

TEST_P(BandedLoops, OfPlantedNaN_AffectOnlyRowsThatAttendToIt) {
  expect_confined(banded, {.pattern = "qds", .layout = two_items(), .dtype = GetParam()},
                  {0, 3, 36, 75, 103});
}

}  // namespace
}  // namespace attnscope::testing
