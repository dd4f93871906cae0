// SPDX-License-Identifier: Apache-2.0
//
// The banded implementation's kernels in the emulation, forward and backward, against the float64
// reference.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "engine/attention/longformer_banded/band_on_cuda.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/cuda_on_host/device_tensor.h"
#include "tests/cuda_on_host/emulator.h"
#include "tests/kernels/confined.h"
#include "tests/kernels/double_rows.h"
#include "tests/kernels/gradient_case.h"
#include "tests/kernels/hand_made_plans.h"
#include "tests/kernels/random_plan.h"

namespace attnscope::testing {
namespace {

using longformer_banded::BandOnCuda;
using longformer_banded::DeviceCall;
using longformer_banded::Weighting;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

void expect_done(const Status& status) {
  ASSERT_TRUE(status) << status.error().message;
}

BandOnCuda made(Result<BandOnCuda> band) {
  EXPECT_TRUE(band) << band.error().message;
  return *std::move(band);
}

/// A plan's list and workspace in device memory, and the calls on them.
class Band {
 public:
  Band(const AttentionPlan& plan, const Packed& shape, Passes passes,
       Weighting weighting = Weighting::softmax)
      : weighting_(weighting),
        scale_(weighting == Weighting::softmax ? scale_of(shape.head_dim) : 1.0F),
        band_(made(BandOnCuda::make(plan, shape.head_dim, passes))),
        list_("list", band_.list()),
        workspace_("workspace", band_.workspace_floats()) {
    const std::int64_t rows = passes == Passes::forward ? 0 : plan.tokens * plan.heads;
    EXPECT_EQ(band_.workspace_floats(), windowed_score_elements(plan) + rows);
  }

  [[nodiscard]] Outputs forward(const Inputs& inputs) {
    const Packed& shape = inputs.q;
    DeviceTensor q(inputs.q), k(inputs.k), v(inputs.v), o(like(shape, nan));
    const bool softmax = weighting_ == Weighting::softmax;
    const on_host::DeviceArray<float> lse("lse", softmax ? shape.tokens * shape.heads : 0);
    expect_done(band_.forward(call(), q.view(), k.view(), v.view(), o.tensor(),
                              softmax ? lse.data() : nullptr));
    EXPECT_TRUE(lse.written());
    EXPECT_TRUE(gaps_are_untouched(o.packed()));
    return {o.packed(), lse.values()};
  }

  [[nodiscard]] Gradients backward(const Inputs& inputs, const Packed& o, const Packed& grad_o) {
    DeviceTensor q(inputs.q), k(inputs.k), v(inputs.v), out(o), arriving(grad_o);
    const Packed empty = like(inputs.q, nan);
    DeviceTensor grad_q(empty), grad_k(empty), grad_v(empty);
    expect_done(band_.backward(call(), {.q = q.view(),
                                        .k = k.view(),
                                        .v = v.view(),
                                        .o = out.view(),
                                        .lse = {},
                                        .grad_o = arriving.view(),
                                        .grad_q = grad_q.tensor(),
                                        .grad_k = grad_k.tensor(),
                                        .grad_v = grad_v.tensor()}));
    for (DeviceTensor* gradient : {&grad_q, &grad_k, &grad_v}) {
      EXPECT_TRUE(gaps_are_untouched(gradient->packed()));
    }
    return {grad_q.packed(), grad_k.packed(), grad_v.packed()};
  }

 private:
  [[nodiscard]] DeviceCall call() {
    return {.list = list_.data(),
            .workspace = workspace_.data(),
            .scale = scale_,
            .weighting = weighting_,
            .stream = nullptr};
  }

  Weighting weighting_;
  float scale_;
  BandOnCuda band_;
  on_host::DeviceArray<std::byte> list_;
  on_host::DeviceArray<float> workspace_;
};

void expect_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                  const std::string& what) {
  // The forward pass alone asks for no row sums and has to do without.
  Band alone(plan, inputs.q, Passes::forward), band(plan, inputs.q, Passes::forward_backward);
  const Outputs outputs = band.forward(inputs);
  EXPECT_EQ(alone.forward(inputs).o.data, outputs.o.data) << what;
  expect_near(outputs, reference(keys, inputs), inputs.q.head_dim, what);
  const Packed grad_o = random_like(inputs.q, 7);
  const ExactCase values{Values(inputs.q), Values(inputs.k), Values(inputs.v), Values(outputs.o),
                         Values(grad_o)};
  expect_near(band.backward(inputs, outputs.o, grad_o), reference_gradients(keys, values), what);
}

void expect_banded_right(const AttentionCase& problem) {
  expect_right(problem.plan(), random_inputs(problem), problem.keys(), problem.text());
}

SequenceLayout two_items() {
  return layout_of({{.cls = 1, .query = 5, .documents = {70}, .sentences = {0, 30, 60}},
                    {.cls = 1, .query = 4, .documents = {23}, .sentences = {0, 11}}});
}

class CudaBanded : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, CudaBanded,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(CudaBanded, OnTheBuiltInPatterns_IsRight) {
  for (const char* pattern : built_in_patterns) {
    for (const std::int64_t w : {0, 4, 40}) {
      expect_banded_right({.pattern = pattern,
                           .window = Window::of(w),
                           .layout = two_items(),
                           .head_dim = 16,
                           .order = w == 4 ? Order::token_major : Order::head_major,
                           .dtype = GetParam()});
    }
  }
}

TEST_P(CudaBanded, OfEveryHeadDimension_IsRight) {
  for (const std::int64_t d : {1, 8, 20, 32, 33, 64, 100, 256}) {
    expect_banded_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {40}}}),
                         .heads = 1,
                         .head_dim = d,
                         .dtype = GetParam()});
  }
}

TEST_P(CudaBanded, OnEqualItemsInHeadMajorOrder_IsRight) {
  expect_banded_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {40}},
                                            {.cls = 1, .query = 3, .documents = {40}}}),
                       .order = Order::head_major_items,
                       .dtype = GetParam()});
}

TEST_P(CudaBanded, OnPlansMadeByHand_IsRight) {
  for (const HandMadePlan& made_plan : hand_made_plans()) {
    // Those of thousands of rows and keys take long here; WhereOneRowSeesALongDocument does too.
    if (made_plan.windows_over_listed_keys || made_plan.plan.tokens > 1000) continue;
    const AttentionPlan& plan = made_plan.plan;
    const Inputs inputs =
        random_inputs(plan.tokens, plan.heads, 8, Order::token_major, 0, 3, GetParam());
    expect_right(plan, inputs, keys_from_plan(plan), made_plan.name);
  }
}

TEST_P(CudaBanded, OnRandomPlans_IsRight) {
  int tried = 0;
  for (unsigned seed = 1; seed <= 200 && tried < 8; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    constexpr std::int64_t soon_done = 20'000;
    if (!longformer_banded::DeviceLists::fit(plan)) continue;
    if (windowed_score_elements(plan) > soon_done) continue;
    ++tried;
    const Inputs inputs =
        random_inputs(plan.tokens, plan.heads, 16, Order::head_major, 0, seed, GetParam());
    expect_right(plan, inputs, keys_from_plan(plan), text_of(plan));
  }
  EXPECT_EQ(tried, 8);
}

TEST_P(CudaBanded, WhereOneRowSeesALongDocument_IsRight) {
  // [CLS] sees 1,004 keys and 1,004 rows see [CLS]: several threads share a sum.
  expect_banded_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {1000}}}),
                       .heads = 1,
                       .head_dim = 16,
                       .dtype = GetParam()});
}

TEST_P(CudaBanded, OnAQuerySharedByDocuments_IsRight) {
  const std::vector<LayoutItem> items(20, {.cls = 1, .documents = {50}});
  expect_banded_right(
      {.layout = layout_of(items, 7), .heads = 1, .head_dim = 16, .dtype = GetParam()});
}

void expect_close(const Packed& actual, const Values& expected, const std::string& what) {
  const double bound = (1e-5 + 2 * unit_roundoff(actual.dtype)) * expected.largest();
  for (std::int64_t t = 0; t < actual.tokens; ++t) {
    for (std::int64_t h = 0; h < actual.heads; ++h) {
      for (std::int64_t x = 0; x < actual.head_dim; ++x) {
        ASSERT_NEAR(actual.at(t, h, x), expected.row(t, h)[x], bound) << what << " token " << t;
      }
    }
  }
}

TEST_P(CudaBanded, OfTheTwoProductsAlone_MatchesNaiveLoops) {
  const AttentionCase problem{.window = Window::of(3),
                              .layout = layout_of({{.documents = {33}}, {.documents = {9}}}),
                              .head_dim = 24,
                              .dtype = GetParam()};
  const AttentionPlan plan = problem.plan();
  const Inputs inputs = random_inputs(problem);
  const Packed grad_o = random_like(inputs.q, 7);
  Band band(plan, inputs.q, Passes::forward_backward, Weighting::none);
  const Packed o = band.forward(inputs).o;
  const Gradients gradients = band.backward(inputs, o, grad_o);
  const Values q(inputs.q), k(inputs.k), v(inputs.v), arriving(grad_o);
  const std::int64_t d = problem.head_dim;
  const Values zeros(plan.tokens, plan.heads, d);
  Values expected = zeros, grad_q = zeros, grad_k = zeros, grad_v = zeros;
  const KeysOf keys = problem.keys();
  for (std::int64_t i = 0; i < plan.tokens; ++i) {
    for (std::int32_t h = 0; h < plan.heads; ++h) {
      for (const std::int64_t j : keys(i, h)) {
        const double score = dot(q.row(i, h), k.row(j, h), d);
        const double grad_score = dot(arriving.row(i, h), v.row(j, h), d);
        add(score, v.row(j, h), d, expected.row(i, h));
        add(grad_score, k.row(j, h), d, grad_q.row(i, h));
        add(grad_score, q.row(i, h), d, grad_k.row(j, h));
        add(score, arriving.row(i, h), d, grad_v.row(j, h));
      }
    }
  }
  expect_close(o, expected, "o");
  expect_close(gradients.q, grad_q, "grad_q");
  expect_close(gradients.k, grad_k, "grad_k");
  expect_close(gradients.v, grad_v, "grad_v");
}

TEST_P(CudaBanded, OfPlantedNaN_ShowsItInRowsThatSeeItAlone) {
  for (const char* name : {"sparse", "qds"}) {
    const AttentionCase problem{.pattern = name, .layout = two_items(), .dtype = GetParam()};
    const AttentionPlan plan = problem.plan();
    const Inputs clean_inputs = random_inputs(problem);
    Band band(plan, clean_inputs.q, Passes::forward);
    const Outputs clean = band.forward(clean_inputs);
    for (const std::int64_t planted : {0, 3, 36, 76, 103}) {
      Inputs inputs = clean_inputs;
      for (std::int64_t h = 0; h < problem.heads; ++h) {
        for (std::int64_t x = 0; x < problem.head_dim; ++x) {
          inputs.k.at(planted, h, x) = inputs.v.at(planted, h, x) = nan;
        }
      }
      const Outputs dirty = band.forward(inputs);
      expect_confined(problem, clean, dirty, planted, fmt::format("{} {}", name, planted));
    }
  }
}

TEST_P(CudaBanded, InAnotherOrderOfBlocksAndThreads_KeepsEveryBit) {
  const AttentionCase problem{.pattern = "qds", .layout = two_items(), .dtype = GetParam()};
  const AttentionPlan plan = problem.plan();
  const Inputs inputs = random_inputs(problem);
  const Packed grad_o = random_like(inputs.q, 7);
  Band band(plan, inputs.q, Passes::forward_backward);
  const Outputs first = band.forward(inputs);
  const Gradients gradients = band.backward(inputs, first.o, grad_o);
  for (const std::uint64_t seed : {2, 3, 4}) {
    on_host::set_seed(seed);
    const Outputs again = band.forward(inputs);
    EXPECT_EQ(first.o.data, again.o.data);
    EXPECT_EQ(first.lse, again.lse);
    EXPECT_TRUE(same_bits(gradients, band.backward(inputs, first.o, grad_o)));
  }
}

TEST(CudaBandedPlans, ThatTheKernelsDecline_AreErrorsWithTheReason) {
  const auto refused = [](const AttentionPlan& plan) {
    const auto band = BandOnCuda::make(plan, 32, Passes::forward);
    return band ? std::string("none") : band.error().message;
  };
  for (const HandMadePlan& made_plan : hand_made_plans()) {
    if (!made_plan.windows_over_listed_keys) continue;
    EXPECT_NE(refused(made_plan.plan).find("listed keys"), std::string::npos) << made_plan.name;
  }
  AttentionPlan far{.tokens = 8, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
  far.segments = {{.keys = {0, 8}, .kind = SegmentKind::band, .window = std::int64_t{1} << 30}};
  far.tasks = {
      {.queries = {0, 8}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 1}};
  EXPECT_NE(refused(far).find("windows up to"), std::string::npos);
}

}  // namespace
}  // namespace attnscope::testing
