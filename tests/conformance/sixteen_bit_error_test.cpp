// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16: our kernels, whose sums are float32, are at most twice as far from float64
// as LibTorch's attention with the same mask in the same type, in outputs and in gradients.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/proof/call.h"
#include "tests/attention/small_problem.h"

namespace attnscope::tests {
namespace {

/// What float32 sums may be off, as in error_bound().
constexpr double absolute_floor = 2e-6;

/// Errors of o, grad_q, grad_k and grad_v.
using Errors = std::array<double, 4>;
constexpr std::array names{"o", "grad_q", "grad_k", "grad_v"};

class Measured {
 public:
  explicit Measured(const Problem& problem)
      : problem_(problem), tensors_(shape_of(problem), problem.device) {
    tensors_.place([&](std::int64_t bytes) { return guarded_room(problem.device, bytes); });
    const CallView view = tensors_.on_host();
    unsigned seed = 0;
    for (const Tensor& tensor : {view.q, view.k, view.v, view.grad_o}) {
      std::mt19937 random(++seed);
      std::normal_distribution<float> normal;
      std::vector<float> values(
          static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads * problem.head_dim));
      for (float& value : values) value = normal(random);
      pack(values, problem.plan.tokens, problem.plan.heads, tensor);
    }
    const std::int64_t all_rows = problem.plan.tokens * problem.plan.heads;
    reference_ = reference_of(problem, sample_rows(problem.layout, problem.plan.heads, all_rows, 1),
                              tensors_);
  }

  Errors errors_of(std::string_view id) {
    auto prepared = find_implementation(id)->prepare(problem_);
    EXPECT_TRUE(prepared) << prepared.error().message;
    const CallView view = tensors_.on_host();
    const Room workspace = guarded_room(problem_.device, (*prepared)->workspace_bytes());
    const Status done = call(**prepared, view, workspace.values, Pass::both);
    EXPECT_TRUE(done) << done.error().message;
    const GradientErrors errors =
        gradient_errors(*reference_.gradients, view.grad_q, view.grad_k, view.grad_v);
    return {relative_error(reference_.rows, view.o), errors.q, errors.k, errors.v};
  }

 private:
  const Problem& problem_;
  CallTensors tensors_;
  Reference reference_;
};

void expect_no_worse_than_libtorch(std::string_view pattern, std::optional<Window> window,
                                   const SequenceLayout& layout, std::int64_t head_dim, DType dtype,
                                   MemoryOrder order) {
  SmallProblem small(pattern, window, layout, 2, head_dim);
  small.problem.dtype = dtype;
  small.problem.memory_order = order;
  small.problem.direction = Direction::forward_backward;
  Measured measured(small.problem);
  const Errors theirs = measured.errors_of("sdpa-mask");
  for (const std::string_view id : {"segment", "windowed"}) {
    ASSERT_TRUE(find_implementation(id)->supports(small.problem)) << id;
    const Errors ours = measured.errors_of(id);
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_LE(ours[i], 2 * theirs[i] + absolute_floor)
          << fmt::format("{} of {} on {} w={} {} {} d={}, {}", names[i], id, pattern,
                         window ? window->text() : "none", name_of(dtype), name_of(order), head_dim,
                         layout_json(layout));
    }
  }
}

class SixteenBitErrors : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Kernels, SixteenBitErrors,
                         ::testing::Values(DType::float16, DType::bfloat16),
                         [](const auto& parameter) {
                           return std::string(name_of(parameter.param));
                         });

TEST_P(SixteenBitErrors, OnEveryPattern_AreAtMostTwiceLibTorchs) {
  const SequenceLayout layout = SequenceLayout::uniform(2, item(1, 11, 150));
  for (const AttentionPattern& pattern : built_in_patterns()) {
    for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
      expect_no_worse_than_libtorch(pattern.name, Window::of(4), layout, 32, GetParam(), order);
    }
  }
}

TEST_P(SixteenBitErrors, AtEveryWindowAndHeadDimension_AreAtMostTwiceLibTorchs) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 5, 200));
  for (const std::int64_t d : {8, 20, 64, 256}) {
    for (const Window window : {Window::of(0), Window::of(64), Window::infinite()}) {
      expect_no_worse_than_libtorch("sparse", window, layout, d, GetParam(),
                                    MemoryOrder::head_major);
    }
  }
}

TEST_P(SixteenBitErrors, OfRaggedItems_AreAtMostTwiceLibTorchs) {
  const SequenceLayout layout =
      SequenceLayout::make({item(1, 4, 70), item(1, 9, 1), item(1, 0, 18), item(1, 3, 120)})
          .value();
  for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
    expect_no_worse_than_libtorch("sparse", Window::of(4), layout, 32, GetParam(), order);
  }
}

}  // namespace
}  // namespace attnscope::tests
