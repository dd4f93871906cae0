// SPDX-License-Identifier: Apache-2.0
//
// What the fused kernels promise beside right numbers - the same bits in every order, nothing from
// keys that a row does not see - and that a wrong work list would be seen.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/pattern/oracle.h"
#include "tests/cuda_on_host/emulator.h"
#include "tests/cuda_on_host/segment_case.h"
#include "tests/kernels/confined.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

AttentionCase small_case(const std::string& pattern, DType dtype) {
  return {.pattern = pattern,
          .layout = layout_of({{.cls = 1, .query = 5, .documents = {70}, .sentences = {0, 30, 60}},
                               {.cls = 1, .query = 4, .documents = {23}, .sentences = {0, 11}}}),
          .dtype = dtype};
}

class CudaSegment : public ::testing::TestWithParam<DType> {
 protected:
  ~CudaSegment() override { on_host::set_seed(0); }
};
INSTANTIATE_TEST_SUITE_P(Type, CudaSegment,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(CudaSegment, InAnotherOrderOfBlocksAndThreads_KeepsEveryBit) {
  for (const char* pattern : {"sparse", "qds"}) {
    const AttentionCase problem = small_case(pattern, GetParam());
    const SegmentOnHost segment(problem.plan(), problem.head_dim, GetParam(),
                                Passes::forward_backward);
    const Inputs inputs = random_inputs(problem);
    on_host::set_seed(0);
    const Outputs first = segment.forward(inputs, Place::token_major);
    const BackwardCase backward{inputs, first, random_like(inputs.q, 7)};
    const Gradients gradients = segment.backward(backward, Place::token_major);
    for (const std::uint64_t seed : {1, 2, 3}) {
      on_host::set_seed(seed);
      const Outputs again = segment.forward(inputs, Place::token_major);
      EXPECT_EQ(first.o.data, again.o.data) << pattern << " seed " << seed;
      EXPECT_EQ(first.lse, again.lse) << pattern << " seed " << seed;
      EXPECT_TRUE(same_bits(gradients, segment.backward(backward, Place::token_major)))
          << pattern << " seed " << seed;
    }
  }
}

TEST_P(CudaSegment, WithoutLogSumExp_GivesTheSameOutputs) {
  using Content = WatchedTensor::Content;
  const AttentionCase problem = small_case("sparse", GetParam());
  const SegmentOnHost segment(problem.plan(), problem.head_dim, GetParam(), Passes::forward);
  const Inputs inputs = random_inputs(problem);
  const Outputs with = segment.forward(inputs, Place::token_major);
  const WatchedTensor q("q", inputs.q, Place::token_major, Content::given);
  const WatchedTensor k("k", inputs.k, Place::token_major, Content::given);
  const WatchedTensor v("v", inputs.v, Place::token_major, Content::given);
  const WatchedTensor o("o", inputs.q, Place::token_major, Content::unwritten);
  const Status done =
      cuda::segment_forward(segment.work(), segment.memory(), q.view(), k.view(), v.view(),
                            scale_of(problem.head_dim), o.tensor(), nullptr, nullptr);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(with.o.data, o.read_back().data);
}

void expect_same_row(const Packed& a, const Packed& b, std::int64_t token, std::int64_t head,
                     const std::string& what) {
  for (std::int64_t x = 0; x < a.head_dim; ++x) {
    ASSERT_EQ(a.at(token, head, x), b.at(token, head, x)) << what << " row " << token;
  }
}

TEST_P(CudaSegment, OfPlantedNaN_ShowsItInRowsThatSeeItAlone) {
  for (const char* pattern : {"sparse", "qds"}) {
    const AttentionCase problem = small_case(pattern, GetParam());
    const SegmentOnHost segment(problem.plan(), problem.head_dim, GetParam(), Passes::forward);
    const Inputs clean_inputs = random_inputs(problem);
    const Outputs clean = segment.forward(clean_inputs, Place::token_major);
    for (const std::int64_t planted : {0, 3, 6, 36, 40, 75, 76, 78, 103}) {
      Inputs inputs = clean_inputs;
      for (std::int64_t h = 0; h < problem.heads; ++h) {
        inputs.k.at(planted, h, 3) = inputs.v.at(planted, h, 4) = nan;
      }
      const Outputs dirty = segment.forward(inputs, Place::token_major);
      expect_confined(problem, clean, dirty, planted,
                      fmt::format("{} planted at {}", pattern, planted));
    }
  }
}

/// A NaN in a key and its value reaches the gradients of the queries that see it, and the gradients
/// of keys that one of those queries sees; nothing else.
TEST_P(CudaSegment, GradientsWithPlantedNaN_AreTouchedOnlyWherePairsAre) {
  const AttentionCase problem = small_case("sparse", GetParam());
  const auto found = find_pattern(problem.pattern);
  const Oracle oracle(*found, problem.window, problem.layout);
  const SegmentOnHost segment(problem.plan(), problem.head_dim, GetParam(),
                              Passes::forward_backward);
  const Inputs inputs = random_inputs(problem);
  BackwardCase clean{inputs, segment.forward(inputs, Place::token_major), random_like(inputs.q, 7)};
  const Gradients expected = segment.backward(clean, Place::token_major);
  for (const std::int64_t planted : {36, 90}) {
    BackwardCase dirty = clean;
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      dirty.in.k.at(planted, h, 3) = dirty.in.v.at(planted, h, 4) = nan;
    }
    const Gradients actual = segment.backward(dirty, Place::token_major);
    for (std::int64_t t = 0; t < problem.layout.tokens(); ++t) {
      for (std::int32_t h = 0; h < problem.heads; ++h) {
        const std::string what = fmt::format("planted at {}", planted);
        if (!oracle.allowed(h, t, planted)) {
          expect_same_row(expected.q, actual.q, t, h, "grad_q, " + what);
        }
        bool shares_a_query = false;
        for (std::int64_t i = 0; i < problem.layout.tokens(); ++i) {
          shares_a_query |= oracle.allowed(h, i, t) && oracle.allowed(h, i, planted);
        }
        if (shares_a_query) continue;
        expect_same_row(expected.k, actual.k, t, h, "grad_k, " + what);
        expect_same_row(expected.v, actual.v, t, h, "grad_v, " + what);
      }
    }
  }
}

// ---- work lists with a mistake planted

struct WrongList {
  std::string name;
  std::function<void(cuda::WorkList&)> plant;
};

cuda::WorkRule& first_band(cuda::WorkList& list) {
  return *std::ranges::find(list.rules, cuda::RuleKind::band, &cuda::WorkRule::kind);
}

/// The largest difference of outputs from the reference, or a number beyond any for an error.
struct Seen {
  double error = 0;
  std::string message;
};

Seen look_at(const AttentionCase& problem, const cuda::WorkList& list) {
  const Inputs inputs = random_inputs(problem);
  const SegmentOnHost segment(list, problem.head_dim, problem.dtype);
  const Result<Outputs> out = segment.try_forward(inputs, Place::token_major);
  if (!out) return {HUGE_VAL, out.error().message};
  const Reference expected = reference(problem, inputs);
  Seen seen;
  const Packed& o = out->o;
  std::size_t number = 0;
  for (std::int64_t t = 0; t < o.tokens; ++t) {
    for (std::int64_t h = 0; h < o.heads; ++h) {
      for (std::int64_t x = 0; x < o.head_dim; ++x) {
        seen.error = std::max(seen.error, std::abs(o.at(t, h, x) - expected.o[number++]));
      }
    }
  }
  return seen;
}

cuda::WorkList right_list(const AttentionCase& problem) {
  return *cuda::cut_into_units(problem.plan(), problem.head_dim, Passes::forward);
}

TEST_P(CudaSegment, OfTheListThatThePlanGives_IsWithinTheBoundOfTheseTests) {
  const AttentionCase problem = small_case("sparse", GetParam());
  const Seen seen = look_at(problem, right_list(problem));
  EXPECT_EQ(seen.message, "");
  EXPECT_LT(seen.error, 0.02);
}

TEST_P(CudaSegment, WithAnOffByOneInARule_IsSeenToBeWrong) {
  const AttentionCase problem = small_case("sparse", GetParam());
  const std::vector<WrongList> wrong{
      {"a window one too wide", [](cuda::WorkList& list) { ++first_band(list).window; }},
      {"a window one too narrow", [](cuda::WorkList& list) { --first_band(list).window; }},
      {"a band one to the right", [](cuda::WorkList& list) { ++first_band(list).offset; }},
      {"an interval that begins one too late",
       [](cuda::WorkList& list) {
         ++std::ranges::find(list.rules, cuda::RuleKind::whole, &cuda::WorkRule::kind)->begin;
       }},
  };
  for (const WrongList& mistake : wrong) {
    cuda::WorkList list = right_list(problem);
    mistake.plant(list);
    EXPECT_GT(look_at(problem, list).error, 0.02) << mistake.name;
  }
}

TEST_P(CudaSegment, WithASpanOneTokenPastTheTensor_ReadsOutOfBounds) {
  const AttentionCase problem = small_case("sparse", GetParam());
  cuda::WorkList list = right_list(problem);
  const auto last = std::ranges::find_if(list.spans, [&](const cuda::WorkSpan& span) {
    return span.run.listed == 0 && span.run.begin + span.run.count == list.tokens;
  });
  ASSERT_NE(last, list.spans.end());
  ++last->run.count;
  EXPECT_THAT(look_at(problem, list).message,
              ::testing::ContainsRegex("reads [0-9]+ bytes outside [kv], byte"));
}

TEST_P(CudaSegment, WithATileOneTokenPastTheTensor_ReadsOutOfBounds) {
  const AttentionCase problem = small_case("sparse", GetParam());
  cuda::WorkList list = right_list(problem);
  const auto last = std::ranges::find_if(list.units, [&](const cuda::WorkUnit& unit) {
    return unit.run.count > 0 && unit.run.begin + unit.run.count == list.tokens;
  });
  ASSERT_NE(last, list.units.end());
  ++last->run.count;
  EXPECT_THAT(look_at(problem, list).message, ::testing::HasSubstr("outside q, byte"));
}

}  // namespace
}  // namespace attnscope::testing
