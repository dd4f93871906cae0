// SPDX-License-Identifier: Apache-2.0
//
// The errors of our kernels compared with those of LibTorch's attention, on the same inputs.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>

#include "engine/proof/call.h"
#include "tests/attention/small_problem.h"

namespace attnscope::tests {
namespace {

/// The tensors of a problem with random values, and their float64 reference.
class ReferenceCall {
 public:
  /// Inputs of a normal distribution, queries and keys times `factor`.
  ReferenceCall(const Problem& problem, unsigned seed, float factor = 1)
      : problem_(problem), tensors_(shape_of(problem), problem.device) {
    tensors_.place([&](std::int64_t bytes) { return guarded_room(problem.device, bytes); });
    const CallView view = tensors_.on_host();
    const std::int64_t all_rows = problem.plan.tokens * problem.plan.heads;
    for (const Tensor& filled : {view.q, view.k, view.v, view.grad_o}) {
      std::mt19937 random(seed++);
      std::normal_distribution<float> normal;
      if (filled.data == nullptr) continue;  // no gradient arrives
      const bool scaled = filled.data == view.q.data || filled.data == view.k.data;
      std::vector<float> values(static_cast<std::size_t>(all_rows * problem.head_dim));
      for (float& value : values) value = normal(random) * (scaled ? factor : 1);
      pack(values, problem.plan.tokens, problem.plan.heads, filled);
    }
    reference_ = reference_of(problem, sample_rows(problem.layout, problem.plan.heads, all_rows, 1),
                              tensors_);
  }

  /// Calls `id` with this scale, in both passes if the problem has gradients.
  Verdict run(std::string_view id, float scale) {
    Problem requested = problem_;
    requested.scale = scale;
    const auto prepared = prepare(id, requested);
    const Pass pass = problem_.direction == Direction::forward ? Pass::forward : Pass::both;
    const Room workspace = guarded_room(problem_.device, prepared->workspace_bytes());
    const Status done = call(*prepared, tensors_.on_host(), workspace.values, pass);
    EXPECT_TRUE(done) << done.error().message;
    return judge(reference_, tensors_, pass, prepared->writes_lse());
  }
  Verdict run(std::string_view id) { return run(id, problem_.scale); }

  double output_error_of(std::string_view id) {
    static_cast<void>(run(id));
    return relative_error(reference_.rows, tensors_.on_host().o);
  }
  /// The errors of o, grad_q, grad_k and grad_v.
  std::array<double, 4> errors_of(std::string_view id) {
    const double o = output_error_of(id);
    const CallView view = tensors_.on_host();
    const GradientErrors errors =
        gradient_errors(*reference_.gradients, view.grad_q, view.grad_k, view.grad_v);
    return {o, errors.q, errors.k, errors.v};
  }

 private:
  const Problem& problem_;
  CallTensors tensors_;
  Reference reference_;
};

// Scores of 75 and 175 increase the error of every float32 implementation.
constexpr std::array factors{1.0F, 2.0F, 4.0F, 6.0F};

SequenceLayout one_item() {
  return SequenceLayout::uniform(1, item(1, 10, 118));
}

TEST(LargeScores, AreRightInEveryImplementationAndDtypeWithGradients) {
  for (const std::string_view pattern : {"full", "sparse"}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      SmallProblem small(pattern, pattern == "full" ? std::nullopt : std::optional(Window::of(16)),
                         one_item(), 4, 32);
      small.problem.dtype = dtype;
      for (const float factor : factors) {
        for (const Implementation* listed : implementations()) {
          small.problem.direction = Direction::forward_backward;
          if (!listed->supports(small.problem)) small.problem.direction = Direction::forward;
          if (!listed->supports(small.problem)) continue;
          EXPECT_EQ(ReferenceCall(small.problem, 5, factor).run(listed->id).wrong, "")
              << fmt::format("{} of {} in {}, times {}", listed->id, pattern, name_of(dtype),
                             factor);
        }
      }
    }
  }
}

TEST(LargeScores, WithAnotherScaleAreWrong) {
  const SmallProblem small("full", std::nullopt, one_item(), 4, 32);
  for (const float factor : factors) {
    ReferenceCall call(small.problem, 5, factor);
    EXPECT_THAT(call.run("segment", small.problem.scale * 1.0003F).wrong,
                testing::HasSubstr("output"))
        << factor;
  }
}

TEST(LargeScores, HaveNoLargerErrorInTheFusedKernelThanInLibTorch) {
  for (const std::int64_t head_dim : {32, 64}) {
    const SmallProblem small("full", std::nullopt, one_item(), 4, head_dim);
    double ours = 0, theirs = 0;
    for (unsigned seed = 1; seed <= 8; ++seed) {
      ReferenceCall call(small.problem, seed, 5);
      ours += call.output_error_of("segment");
      theirs += call.output_error_of("sdpa");
    }
    EXPECT_LT(ours, theirs) << head_dim;  // 0.7 of it
  }
}

/// Our kernels' errors in 16-bit types, whose sums are float32, are at most twice those of
/// LibTorch's attention with the same mask in the same type.
class SixteenBitErrors : public ::testing::TestWithParam<DType> {
 protected:
  static void expect_at_most_twice_libtorchs(std::string_view pattern, Window window,
                                             const SequenceLayout& layout, std::int64_t head_dim,
                                             MemoryOrder order) {
    constexpr double floor = 2e-6;  // of float32 sums, as in error_bound()
    constexpr std::array names{"o", "grad_q", "grad_k", "grad_v"};
    SmallProblem small(pattern, window, layout, 2, head_dim);
    small.problem.dtype = GetParam();
    small.problem.memory_order = order;
    small.problem.direction = Direction::forward_backward;
    ReferenceCall call(small.problem, 1);
    const std::array<double, 4> theirs = call.errors_of("sdpa-mask");
    for (const std::string_view id : {"segment", "windowed"}) {
      const std::array<double, 4> ours = call.errors_of(id);
      for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_LE(ours[i], 2 * theirs[i] + floor)
            << fmt::format("{} of {} on {} w={} {} d={}, {}", names[i], id, pattern, window.text(),
                           name_of(order), head_dim, layout_json(layout));
      }
    }
  }
  static constexpr std::array both_orders{MemoryOrder::head_major, MemoryOrder::token_major};
};
INSTANTIATE_TEST_SUITE_P(Kernels, SixteenBitErrors,
                         ::testing::Values(DType::float16, DType::bfloat16),
                         [](const auto& parameter) {
                           return std::string(name_of(parameter.param));
                         });

TEST_P(SixteenBitErrors, AreAtMostTwiceLibTorchs_OnEveryPattern) {
  const SequenceLayout layout = SequenceLayout::uniform(2, item(1, 11, 150));
  for (const AttentionPattern& pattern : built_in_patterns()) {
    for (const MemoryOrder order : both_orders) {
      expect_at_most_twice_libtorchs(pattern.name, Window::of(4), layout, 32, order);
    }
  }
}

TEST_P(SixteenBitErrors, AreAtMostTwiceLibTorchs_AtEveryWindowAndHeadDimension) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 5, 200));
  for (const std::int64_t d : {8, 20, 64, 256}) {
    for (const Window window : {Window::of(0), Window::of(64), Window::infinite()}) {
      expect_at_most_twice_libtorchs("sparse", window, layout, d, MemoryOrder::head_major);
    }
  }
}

TEST_P(SixteenBitErrors, AreAtMostTwiceLibTorchs_ForRaggedItems) {
  const SequenceLayout layout =
      SequenceLayout::make({item(1, 4, 70), item(1, 9, 1), item(1, 0, 18), item(1, 3, 120)})
          .value();
  for (const MemoryOrder order : both_orders) {
    expect_at_most_twice_libtorchs("sparse", Window::of(4), layout, 32, order);
  }
}

}  // namespace
}  // namespace attnscope::tests
