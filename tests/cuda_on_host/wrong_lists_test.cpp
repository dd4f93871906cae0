// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in work lists are detected: by wrong results of the fused kernels, or by the emulation
// as reads out of bounds. Also the messages of invalid arguments of the windowed kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/pattern/axes.h"
#include "kernels/cuda/segment.h"
#include "kernels/cuda/windowed.h"
#include "kernels/cuda/work_list.h"
#include "tests/cuda/device_subjects.h"
#include "tests/kernels/plans.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;

struct WrongList {
  std::string name;
  std::function<void(cuda::WorkList&)> plant;
};

/// The segment with the fewest tokens, each of which has a large weight.
cuda::WorkSegment& shortest(cuda::WorkList& list, bool whole) {
  return *std::ranges::min_element(list.segments, {}, [&](const cuda::WorkSegment& segment) {
    return segment.is_whole() == whole ? segment.run.count : list.tokens + 1;
  });
}
cuda::WorkSegment& shortest_band(cuda::WorkList& list) {
  return shortest(list, /*whole=*/false);
}

class WrongLists : public ::testing::TestWithParam<DType> {
 protected:
  static AttentionCase problem() { return {.layout = two_items(), .dtype = GetParam()}; }

  static cuda::WorkList right_list() {
    return *cuda::cut_into_units(problem().plan(), Passes::forward);
  }

  /// The largest difference between outputs and reference; HUGE_VAL for an error.
  struct Deviation {
    double error = 0;
    std::string message;
  };
  static Deviation deviation_of(const cuda::WorkList& list) {
    const Inputs inputs = problem().inputs();
    const cuda::SegmentWork work(std::make_shared<const cuda::WorkList>(list), problem().head_dim,
                                 GetParam());
    const Result<Outputs> out = run_segment_forward(work, inputs, {});
    if (!out) return {HUGE_VAL, out.error().message};
    const Values o(out->o), expected = reference(problem().keys(), inputs).o;
    Deviation deviation;
    for (std::size_t i = 0; i < o.data.size(); ++i) {
      deviation.error = std::max(deviation.error, std::abs(o.data[i] - expected.data[i]));
    }
    return deviation;
  }
};
INSTANTIATE_TEST_SUITE_P(Type, WrongLists, ::testing::ValuesIn(dtypes), name_of_dtype);

TEST_P(WrongLists, WithoutAMistake_AreRight) {
  const Deviation deviation = deviation_of(right_list());
  EXPECT_EQ(deviation.message, "");
  EXPECT_LT(deviation.error, 0.02);
}

TEST_P(WrongLists, WithAnOffByOneInASegment_GiveWrongResults) {
  const std::vector<WrongList> wrong{
      {"a window one too wide", [](cuda::WorkList& list) { ++shortest_band(list).high; }},
      {"a window one too narrow", [](cuda::WorkList& list) { --shortest_band(list).high; }},
      {"a window one too late", [](cuda::WorkList& list) { ++shortest_band(list).low; }},
      {"keys that begin one too late",
       [](cuda::WorkList& list) {
         cuda::WorkRun& run = shortest(list, /*whole=*/true).run;
         ++run.begin;
         --run.count;
       }},
  };
  for (const WrongList& mistake : wrong) {
    cuda::WorkList list = right_list();
    mistake.plant(list);
    EXPECT_GT(deviation_of(list).error, 0.02) << mistake.name;
  }
}

TEST_P(WrongLists, WithASegmentOneTokenPastTheTensor_ReadOutOfBounds) {
  cuda::WorkList list = right_list();
  const auto last = std::ranges::find_if(list.segments, [&](const cuda::WorkSegment& segment) {
    return segment.run.listed == 0 && segment.run.begin + segment.run.count == list.tokens;
  });
  ASSERT_NE(last, list.segments.end());
  ++last->run.count;
  EXPECT_THAT(deviation_of(list).message,
              ::testing::ContainsRegex("reads [0-9]+ bytes outside [kv], byte"));
}

TEST_P(WrongLists, WithAUnitOneTokenPastTheTensor_ReadOutOfBounds) {
  cuda::WorkList list = right_list();
  const auto last = std::ranges::find_if(list.units, [&](const cuda::WorkUnit& unit) {
    return unit.run.count > 0 && unit.run.begin + unit.run.count == list.tokens;
  });
  ASSERT_NE(last, list.units.end());
  ++last->run.count;
  EXPECT_THAT(deviation_of(list).message, HasSubstr("outside q, byte"));
}

TEST(CudaWindowedArguments, AreErrorsIfInvalid) {
  const std::vector<TokenRange> sequences{{0, 17}, {17, 50}};
  const Inputs in = random_inputs(50, 2, 32, Order::token_major, 0, 5);
  const auto work = *cuda::band_work({sequences, 2, 32, 4}, DType::float32, Passes::forward);
  const DeviceMemory list("list", work.list()), scores("scores", work.score_elements() * 4);
  const DeviceTensor q("q", in.q, DeviceTensor::Content::given),
      k("k", in.k, DeviceTensor::Content::given), o("o", in.v, DeviceTensor::Content::given);
  const auto message = [](const auto& of) { return of ? "none" : of.error().message; };
  const auto qk = [&](const ConstTensor& keys, const std::byte* of, float* to) {
    return message(cuda::windowed_qk(work, of, q.view(), keys, 0.5f, to, nullptr));
  };
  ConstTensor narrow = k.view(), other = k.view(), nowhere = k.view();
  narrow.head_dim = 16;
  other.dtype = DType::bfloat16;
  nowhere.data = nullptr;
  EXPECT_EQ(qk(k.view(), list.data(), scores.floats()), "none");
  EXPECT_THAT(qk(narrow, list.data(), scores.floats()), HasSubstr("k has head dimension 16"));
  EXPECT_THAT(qk(other, list.data(), scores.floats()), HasSubstr("k has another dtype"));
  EXPECT_THAT(qk(nowhere, list.data(), scores.floats()), HasSubstr("k has no data"));
  EXPECT_THAT(qk(k.view(), nullptr, scores.floats()), HasSubstr("got no work list"));
  EXPECT_THAT(qk(k.view(), list.data(), nullptr), HasSubstr("the band has no memory"));
  EXPECT_THAT(message(cuda::windowed_qk_backward(work, list.data(), scores.floats(), q.view(),
                                                 k.view(), 0.5f, o.tensor(), o.tensor(), nullptr)),
              HasSubstr("only the forward pass"));
  const auto refused = [&](const BandProblem& problem) {
    return message(cuda::band_work(problem, DType::float32, Passes::forward));
  };
  EXPECT_THAT(refused({sequences, 2, 7, 4}), HasSubstr("head dimensions 8 to 256, not 7"));
  EXPECT_THAT(refused({sequences, 2, 257, 4}), HasSubstr("not 257"));
  EXPECT_THAT(refused({sequences, 2, 32, -1}), HasSubstr("at least 0"));
  EXPECT_THAT(refused({sequences, 0, 32, 4}), HasSubstr("at least 1"));
  EXPECT_EQ(refused({sequences, 2, 32, std::int64_t{1} << 62}), "none");
  EXPECT_EQ(refused({{}, 2, 32, 4}), "none");
  for (const HandMadePlan& made : hand_made_plans()) {
    if (!made.windows_over_listed_keys) continue;
    EXPECT_THAT(message(cuda::windowed_work(made.plan, 32, DType::float32, Passes::forward)),
                HasSubstr("listed keys"));
  }
}

}  // namespace
}  // namespace attnscope::testing
