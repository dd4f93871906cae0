// SPDX-License-Identifier: Apache-2.0
//
// Compares every subject of this program (the kernels on the CPU, those of CUDA in the emulation)
// with the float64 reference on the same cases, forward and backward.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "engine/pattern/axes.h"
#include "kernels/plan/counts.h"
#include "tests/kernels/plans.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

class OfOneSubject : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Proof, OfOneSubject, ::testing::ValuesIn(subjects()),
                         [](const auto& of) { return of.param.name; });

/// The subject and type of a test's parameters.
std::string test_name(const Subject& subject, DType dtype) {
  return fmt::format("{}_{}", subject.name, attnscope::name_of(dtype));
}

class Proof : public ::testing::TestWithParam<std::tuple<Subject, DType>> {
 protected:
  static const Subject& subject() { return std::get<0>(GetParam()); }
  static DType dtype() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Kernels, Proof,
                         ::testing::Combine(::testing::ValuesIn(subjects()),
                                            ::testing::ValuesIn(dtypes)),
                         [](const auto& of) { return std::apply(test_name, of.param); });

struct CaseList {
  std::string name;
  std::vector<AttentionCase> (*cases)(DType dtype);

  friend std::ostream& operator<<(std::ostream& out, const CaseList& list) {
    return out << list.name;
  }
};

class ProofOfCases : public ::testing::TestWithParam<std::tuple<Subject, DType, CaseList>> {};
INSTANTIATE_TEST_SUITE_P(
    Kernels, ProofOfCases,
    ::testing::Combine(::testing::ValuesIn(subjects()), ::testing::ValuesIn(dtypes),
                       ::testing::Values(CaseList{"Windows", cases_of_windows},
                                         CaseList{"NarrowWindows", cases_of_narrow_windows},
                                         CaseList{"Lengths", cases_of_lengths},
                                         CaseList{"HeadDims", cases_of_head_dims},
                                         CaseList{"Layouts", cases_of_layouts},
                                         CaseList{"LongDocuments", cases_of_long_documents})),
    [](const auto& of) {
      return test_name(std::get<0>(of.param), std::get<1>(of.param)) + "_" +
             std::get<2>(of.param).name;
    });

TEST_P(ProofOfCases, IsRight) {
  const auto& [subject, dtype, list] = GetParam();
  int tested = 0;
  for (const AttentionCase& problem : list.cases(dtype)) {
    if (subject.emulated && !problem.emulated) continue;
    ++tested;
    expect_right(subject, problem);
    if (HasFailure()) return;
  }
  if (tested == 0 && subject.emulated) GTEST_SKIP() << "too large to be emulated";
  EXPECT_GT(tested, 0);
}

TEST_P(Proof, OnPlansMadeByHand_IsRight) {
  std::size_t number = static_cast<std::size_t>(dtype());
  for (const auto& [name, plan, windows_over_listed_keys] : hand_made_plans()) {
    if (!subject().supports(plan, 32)) {
      EXPECT_TRUE(windows_over_listed_keys) << name;
      continue;
    }
    for (const std::int64_t d : {20, 32}) {
      // One head dimension and memory order at a time in the emulation.
      ++number;
      if (subject().emulated && number % 2 == 0) continue;
      const Inputs inputs = random_inputs(plan.tokens, plan.heads, d,
                                          orders.at(number % orders.size()), 0, 3, dtype());
      expect_right(subject(), plan, inputs, keys_from_plan(plan), name);
      if (HasFailure()) return;
    }
  }
}

/// Random numbers; the seed selects head dimension, memory order and type.
Inputs inputs_of(const AttentionPlan& plan, unsigned seed) {
  constexpr std::array head_dims{8, 20, 32};
  return random_inputs(plan.tokens, plan.heads, head_dims.at(seed % 3),
                       orders.at(seed % orders.size()), 0, seed, dtypes.at(seed / 3 % 3));
}

/// Globals, and `keys` tokens with a band on themselves. Of twelve more rows every second one has a
/// band on the same keys without one of them; the others see nothing.
AttentionPlan plan_with_band(std::int64_t keys, std::int64_t window) {
  constexpr std::int64_t globals = 3;
  const TokenRun band{globals, globals + keys};
  AttentionPlan plan{
      .tokens = globals + keys + 12, .heads = 2, .tasks = {}, .segments = {}, .indices = {}};
  plan.indices = {globals + keys / 2};
  for (std::int64_t i = 0; i < 12; i += 2) plan.indices.push_back(globals + keys + i);
  for (std::int64_t i = 1; i < 12; i += 2) plan.indices.push_back(globals + keys + i);
  const Segment all{.keys = {0, globals}};
  const Segment own{.keys = band, .kind = SegmentKind::band, .window = window};
  Segment opposite = own;
  opposite.offset = -8;
  opposite.skip_begin = 0;
  opposite.skip_end = 1;
  plan.segments = {all, own, all, opposite};
  plan.tasks = {task_of({0, globals}, {0, 2}, 0, 1), task_of(band, {0, 2}, 0, 2),
                task_of({1, 7, true}, {0, 2}, 2, 2), task_of({7, 13, true}, {0, 2}, 0, 0)};
  return plan;
}

TEST_P(OfOneSubject, WithABandWiderThanItsKeys_IsRight) {
  const bool emulated = GetParam().emulated;
  unsigned seed = 0;
  for (const std::int64_t keys : {1, 2, 9, 66}) {
    for (std::int64_t w = std::max<std::int64_t>((keys - 1) / 2 - 1, 0); w <= keys + 1; ++w) {
      // The emulation runs those next to a change: 2w+1 against the keys, w against the last key.
      if (emulated && keys > 9 && w > keys / 2 + 1 && w < keys - 1) continue;
      const AttentionPlan plan = plan_with_band(keys, w);
      expect_right(GetParam(), plan, inputs_of(plan, ++seed), keys_from_plan(plan),
                   fmt::format("{} keys, w {}", keys, w));
      if (HasFailure()) return;
    }
  }
}

TEST_P(OfOneSubject, OfPlantedNaNInABandStoredByKey_ReachesOnlyRowsThatSeeIt) {
  const AttentionPlan plan = plan_with_band(20, 12);
  expect_confined(GetParam(), plan, inputs_of(plan, 5), keys_from_plan(plan), {3, 22},
                  "20 keys, w 12");
}

TEST_P(OfOneSubject, OnShortDocumentsWithEveryWindow_IsRight) {
  if (GetParam().emulated) GTEST_SKIP() << "WindowedProducts has a sequence of every length";
  for (const AttentionCase& problem : cases_of_short_documents()) {
    expect_right(GetParam(), problem);
    if (HasFailure()) return;
  }
}

TEST_P(OfOneSubject, OnRandomPlans_IsRightWithTheSameBitsInEveryOrder) {
  const Subject& subject = GetParam();
#ifdef __SANITIZE_ADDRESS__
  constexpr bool is_slow = true;
#else
  const bool is_slow = subject.emulated;
#endif
  const unsigned enough = is_slow ? 36 : 100;
  unsigned tested = 0;
  for (unsigned seed = 0; seed < 400 && tested < enough; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    if (!subject.supports(plan, 20) || (subject.emulated && count(plan).pairs > 60'000)) continue;
    ++tested;
    const Inputs inputs = inputs_of(plan, seed);
    const std::string what = fmt::format("seed {}\n{}", seed, text_of(plan));
    expect_right(subject, plan, inputs, keys_from_plan(plan), what);
    if (!subject.emulated) expect_same_bits(subject, plan, inputs, {3}, what);
    if (HasFailure()) return;
  }
  EXPECT_EQ(tested, enough);
}

TEST_P(Proof, InAnotherOrder_KeepsEveryBit) {
  std::vector<AttentionCase> cases{{.pattern = "qds", .layout = two_items()},
                                   {.pattern = "sparse", .layout = two_items()}};
  if (!subject().emulated) {
    const SequenceLayout long_and_short = layout_of({{.query = 11, .documents = {5000}},
                                                     {.query = 3, .documents = {50}},
                                                     {.query = 11, .documents = {300, 7}}});
    for (const char* pattern : {"sparse", "qds", "longformer"}) {
      cases.push_back({.pattern = pattern, .layout = long_and_short, .head_dim = 16});
    }
    cases.push_back(
        {.layout = SequenceLayout::uniform(200, {.documents = {19}}, 5), .head_dim = 8});
  }
  for (AttentionCase& problem : cases) {
    problem.dtype = dtype();
    expect_same_bits(subject(), problem.plan(), problem.inputs(), {2, 3, 7}, problem.text());
  }
}

TEST_P(OfOneSubject, OnPlansMadeByHand_KeepsEveryBitInAnotherOrder) {
  if (GetParam().emulated) GTEST_SKIP() << "orders are random on small cases";
  for (const HandMadePlan& made : hand_made_plans()) {
    if (!GetParam().supports(made.plan, 8)) continue;
    const Inputs inputs =
        random_inputs(made.plan.tokens, made.plan.heads, 8, Order::token_major_apart, 0, 3);
    expect_same_bits(GetParam(), made.plan, inputs, {2, 3}, made.name);
  }
}

// ---- planted NaN and infinity

TEST_P(Proof, OfPlantedNaN_ReachesOnlyRowsThatSeeIt) {
  const std::vector<AttentionCase> cases{
      {.layout = two_items(), .dtype = dtype()},
      {.pattern = "longformer", .window = Window::of(9), .layout = two_items(), .dtype = dtype()},
      {.pattern = "qds", .layout = two_items(), .dtype = dtype()}};
  // [CLS], query, the document's start, inside and end, the next item.
  const std::vector<std::int64_t> tokens =
      subject().emulated ? std::vector<std::int64_t>{0, 36, 76}
                         : std::vector<std::int64_t>{0, 3, 6, 36, 40, 75, 76, 78, 103};
  for (const AttentionCase& problem : cases) expect_confined(subject(), problem, tokens);
}

TEST_P(OfOneSubject, OfPlantedNaNInOtherPatterns_ReachesOnlyRowsThatSeeIt) {
  if (GetParam().emulated)
    GTEST_SKIP() << "OfPlantedNaN has the patterns with the most kinds of rules";
  const SequenceLayout items =
      layout_of({{.query = 5, .documents = {70}}, {.query = 5, .documents = {20, 33}}});
  const auto expect = [&](const AttentionCase& problem, const std::vector<std::int64_t>& tokens) {
    expect_confined(GetParam(), problem, tokens);
  };
  for (const Order order : {Order::token_major_apart, Order::head_major}) {
    expect({.layout = items, .order = order}, {0, 3, 6, 37, 75, 76, 82, 101, 102, 134});
  }
  expect({.window = Window::of(0), .layout = items}, {0, 6, 37, 102});
  expect({.window = Window::of(1), .layout = items}, {0, 6, 37, 102});
  expect({.pattern = "qds", .window = Window::of(8), .layout = items},
         {6, 36, 40, 66, 75, 101, 120});
  expect({.pattern = "longformer", .layout = items}, {0, 40, 75, 102});
  expect({.pattern = "full", .layout = items}, {0, 40, 75, 102});
  for (const std::int64_t d : {8, 20, 33, 64}) {
    expect({.layout = items, .head_dim = d}, {3, 37});
  }
  expect({.layout = layout_of({{.documents = {20}}, {.documents = {3}}, {.documents = {40}}}, 7)},
         {0, 6, 7, 8, 17, 28, 29, 31, 32, 33, 60});
  // The document crosses the borders of chunks.
  expect({.layout = layout_of({{.query = 3, .documents = {700}}}), .heads = 1, .head_dim = 8},
         {0, 2, 4, 127, 128, 131, 255, 256, 260, 383, 511, 512, 640, 703});
}

TEST_P(OfOneSubject, OfPlantedNaNOnOtherPlans_ReachesOnlyRowsThatSeeIt) {
  if (GetParam().emulated)
    GTEST_SKIP() << "OfPlantedNaN has the patterns with the most kinds of rules";
  std::vector<HandMadePlan> plans = hand_made_plans();
  for (unsigned seed = 0; seed < 12; ++seed) {
    plans.push_back({fmt::format("seed {}", seed), random_plan(seed)});
  }
  for (const HandMadePlan& made : plans) {
    const AttentionPlan& plan = made.plan;
    if (!GetParam().supports(plan, 8)) continue;
    const std::int64_t n = plan.tokens;
    expect_confined(GetParam(), plan, random_inputs(n, plan.heads, 8, Order::head_major, 0, 3),
                    keys_from_plan(plan), {0, n / 3, n - 1}, made.name);
  }
}

TEST_P(Proof, OfExtremeScores_StaysFinite) {
  const AttentionCase problem{.layout = two_items(), .dtype = dtype()};
  Inputs inputs = problem.inputs();
  for (std::int64_t t = 0; t < inputs.q.tokens; ++t) {
    for (std::int64_t x = 0; x < problem.head_dim; ++x) inputs.q.at(t, 0, x) *= 1e4f;
  }
  const AttentionPlan plan = problem.plan();
  subject().for_each_build([&](const std::string& build) {
    const BackwardCase left{inputs, subject().forward(plan, inputs, {}), random_like(inputs.q, 7)};
    const Gradients gradients = subject().backward(plan, left, {});
    for (const Packed* of : {&left.forward.o, &gradients.q, &gradients.k, &gradients.v}) {
      // Sums of products with q may overflow float16.
      if (of == &gradients.k && dtype() == DType::float16) continue;
      for (std::int64_t t = 0; t < plan.tokens; ++t) {
        ASSERT_TRUE(is_finite(*of, t, 0)) << build << " token " << t;
      }
    }
  });
}

// ---- unsupported plans

TEST_P(OfOneSubject, WithoutWindowsOverListedKeys_NamesThem) {
  int unsupported = 0, all = 0;
  for (const HandMadePlan& made : hand_made_plans()) {
    all += made.windows_over_listed_keys ? 1 : 0;
    const Status status = GetParam().supports(made.plan, 32);
    if (status) continue;
    ++unsupported;
    EXPECT_NE(status.error().message.find("listed keys"), std::string::npos) << made.name;
  }
  EXPECT_EQ(unsupported, GetParam().recomputes ? 0 : all);
}

}  // namespace
}  // namespace attnscope::testing
