// SPDX-License-Identifier: Apache-2.0
//
// Defines the subjects of this program, in the emulation: the CUDA kernels and those of the banded
// implementation. In addition to proof_test.cpp, tests the banded kernels' two products without a
// softmax, and plans that they do not support.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "engine/attention/longformer_banded/band_on_cuda.h"
#include "engine/pattern/axes.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/cuda/device_subjects.h"
#include "tests/kernels/plans.h"

namespace attnscope::testing {
namespace {

using longformer_banded::BandOnCuda;
using longformer_banded::Weighting;
using Content = DeviceTensor::Content;

/// A plan's list and workspace in device memory.
struct Banded {
  Banded(const AttentionPlan& plan, const Packed& shape, const Call& call,
         Weighting weighting_in = Weighting::softmax)
      : weighting(weighting_in),
        scale(weighting == Weighting::softmax ? scale_of(shape.head_dim) : 1.0F),
        scores(windowed_score_elements(plan)),
        band(*BandOnCuda::make(plan, shape.head_dim,
                               call.alone ? Passes::forward : Passes::forward_backward)),
        list("list", band.list()),
        workspace("workspace", band.workspace_floats() * std::int64_t{sizeof(float)}) {
    // A call of only the forward pass has no memory for row sums.
    EXPECT_EQ(band.workspace_floats(), scores + (call.alone ? 0 : plan.tokens * plan.heads));
    set_order(call.order);
  }
  [[nodiscard]] longformer_banded::DeviceCall call() const {
    return {.list = list.data(),
            .workspace = workspace.floats(),
            .scale = scale,
            .weighting = weighting,
            .stream = nullptr};
  }

  [[nodiscard]] Outputs forward(const Inputs& in, const Call& of) const {
    const bool with_lse = weighting == Weighting::softmax && !of.alone;
    const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
        v("v", in.v, Content::given), o("o", in.q, Content::unwritten);
    const DeviceMemory lse("lse", with_lse ? in.q.tokens * in.q.heads * 4 : 0);
    for (int i = 0; i < of.repeats; ++i) {
      const Status done = band.forward(call(), q.view(), k.view(), v.view(), o.tensor(),
                                       with_lse ? lse.floats() : nullptr);
      EXPECT_TRUE(done) << done.error().message;
    }
    std::vector<float> weights(static_cast<std::size_t>(scores));
    const std::vector<std::byte> left = workspace.read();
    if (scores > 0) std::memcpy(weights.data(), left.data(), weights.size() * sizeof(float));
    return {o.read_back(), lse.read_floats(), std::move(weights)};
  }

  /// Reads the weights of the forward pass and replaces them with the gradients of the scores.
  [[nodiscard]] Gradients backward(const BackwardCase& problem, const Call& of) const {
    const DeviceGradients gradients(problem);
    DeviceMemory memory = workspace;
    for (int i = 0; i < of.repeats; ++i) {
      memory.set(std::as_bytes(std::span(problem.forward.scores)));
      const Status done = band.backward(call(), gradients.tensors());
      EXPECT_TRUE(done) << done.error().message;
    }
    return gradients.read_back();
  }

  Weighting weighting;
  float scale;
  std::int64_t scores;
  BandOnCuda band;
  DeviceMemory list, workspace;
};

Status supports(const AttentionPlan& plan, std::int64_t head_dim) {
  const Result<BandOnCuda> band = BandOnCuda::make(plan, head_dim, Passes::forward);
  if (!band) return tl::unexpected(band.error());
  return {};
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> all = device_subjects();
  Subject banded = all.back();
  banded.name = "cuda_banded";
  banded.supports = supports;
  banded.forward = [](const AttentionPlan& plan, const Inputs& in, const Call& call) {
    return Banded(plan, in.q, call).forward(in, call);
  };
  banded.backward = [](const AttentionPlan& plan, const BackwardCase& problem, const Call& call) {
    return Banded(plan, problem.in.q, call).backward(problem, call);
  };
  all.push_back(banded);
  return all;
}

class CudaBanded : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, CudaBanded, ::testing::ValuesIn(dtypes), name_of_dtype);

TEST_P(CudaBanded, WithoutASoftmax_MatchesNaiveLoops) {
  const AttentionCase problem{.window = Window::of(3),
                              .layout = layout_of({{.documents = {33}}, {.documents = {9}}}),
                              .head_dim = 24,
                              .dtype = GetParam()};
  const AttentionPlan plan = problem.plan();
  const Inputs in = problem.inputs();
  const Banded band(plan, in.q, {}, Weighting::none);
  const BackwardCase backward{in, band.forward(in, {}), random_like(in.q, 7)};
  const Formula products{.scale = 1, .softmax = false};
  const KeysOf keys = problem.keys();
  const Reference expected = reference(keys, exact(backward), products);
  const ReferenceGradients gradients = reference_gradients(keys, exact(backward), products);
  const Gradients got = band.backward(backward, {});
  const auto expect_close = [](const char* what, const Packed& actual, const Values& right) {
    expect_near(actual, right, (1e-5 + 2 * unit_roundoff(actual.dtype)) * right.largest(), what);
  };
  expect_close("o", backward.forward.o, expected.o);
  expect_close("grad_q", got.q, gradients.q);
  expect_close("grad_k", got.k, gradients.k);
  expect_close("grad_v", got.v, gradients.v);
}

TEST(CudaBandedPlans, WithTooLargeAWindowAreRefused) {
  const AttentionPlan far = plan_of_one_task(
      8, 1, {{.keys = {0, 8}, .kind = SegmentKind::band, .window = std::int64_t{1} << 30}});
  const Status refused = supports(far, 32);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("supports up to"));
}

}  // namespace

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = all_subjects();
  return all;
}

const ProductSubject& product_subject() {
  return device_product_subject();
}

}  // namespace attnscope::testing
