// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16: the errors of our kernels, whose sums are float32, are at most twice those
// of LibTorch's attention with the same mask in the same type, in outputs and in gradients.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "tests/attention/small_problem.h"
#include "tests/conformance/reference_call.h"

namespace attnscope::tests {
namespace {

/// The allowed error of float32 sums, as in error_bound().
constexpr double absolute_floor = 2e-6;

/// Errors of o, grad_q, grad_k and grad_v.
using Errors = std::array<double, 4>;
constexpr std::array names{"o", "grad_q", "grad_k", "grad_v"};

Errors errors_of(ReferenceCall& call, std::string_view id) {
  static_cast<void>(call.run(id));
  const CallView view = call.tensors();
  const GradientErrors errors =
      gradient_errors(*call.reference.gradients, view.grad_q, view.grad_k, view.grad_v);
  return {call.output_error(), errors.q, errors.k, errors.v};
}

void expect_no_worse_than_libtorch(std::string_view pattern, std::optional<Window> window,
                                   const SequenceLayout& layout, std::int64_t head_dim, DType dtype,
                                   MemoryOrder order) {
  SmallProblem small(pattern, window, layout, 2, head_dim);
  small.problem.dtype = dtype;
  small.problem.memory_order = order;
  small.problem.direction = Direction::forward_backward;
  std::array random{std::mt19937(1), std::mt19937(2), std::mt19937(3), std::mt19937(4)};
  std::array<std::normal_distribution<float>, 4> normal;
  ReferenceCall call(small.problem, [&](std::size_t t) { return normal[t](random[t]); });
  const Errors theirs = errors_of(call, "sdpa-mask");
  for (const std::string_view id : {"segment", "windowed"}) {
    ASSERT_TRUE(find_implementation(id)->supports(small.problem)) << id;
    const Errors ours = errors_of(call, id);
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

TEST_P(SixteenBitErrors, AreAtMostTwiceLibTorchs_OnEveryPattern) {
  const SequenceLayout layout = SequenceLayout::uniform(2, item(1, 11, 150));
  for (const AttentionPattern& pattern : built_in_patterns()) {
    for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
      expect_no_worse_than_libtorch(pattern.name, Window::of(4), layout, 32, GetParam(), order);
    }
  }
}

TEST_P(SixteenBitErrors, AreAtMostTwiceLibTorchs_AtEveryWindowAndHeadDimension) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 5, 200));
  for (const std::int64_t d : {8, 20, 64, 256}) {
    for (const Window window : {Window::of(0), Window::of(64), Window::infinite()}) {
      expect_no_worse_than_libtorch("sparse", window, layout, d, GetParam(),
                                    MemoryOrder::head_major);
    }
  }
}

TEST_P(SixteenBitErrors, AreAtMostTwiceLibTorchs_ForRaggedItems) {
  const SequenceLayout layout =
      SequenceLayout::make({item(1, 4, 70), item(1, 9, 1), item(1, 0, 18), item(1, 3, 120)})
          .value();
  for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
    expect_no_worse_than_libtorch("sparse", Window::of(4), layout, 32, GetParam(), order);
  }
}

}  // namespace
}  // namespace attnscope::tests
