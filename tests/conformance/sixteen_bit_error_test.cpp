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
#include "engine/attention/reference.h"
#include "engine/attention/reference_gradients.h"
#include "tests/attention/small_problem.h"

namespace attnscope::tests {
namespace {

/// What float32 sums may be off, as in error_bound().
constexpr double absolute_floor = 2e-6;

struct Memory {
  std::vector<std::byte> bytes;

  explicit Memory(const Problem& problem)
      : bytes(static_cast<std::size_t>(
            packed_bytes(problem.layout, problem.plan.heads, problem.head_dim, problem.dtype))) {}
  Tensor tensor(const Problem& problem) {
    return packed_tensor(problem.layout, problem.plan.heads, problem.head_dim, problem.dtype,
                         problem.memory_order, bytes.data());
  }
  ConstTensor view(const Problem& problem) { return attnscope::as_const(tensor(problem)); }
};

Memory random_memory(const Problem& problem, unsigned seed) {
  Memory memory(problem);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(
      static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads * problem.head_dim));
  for (float& value : values) value = normal(random);
  pack(values, problem.plan.tokens, problem.plan.heads, memory.tensor(problem));
  return memory;
}

/// Errors of o, grad_q, grad_k and grad_v.
using Errors = std::array<double, 4>;
constexpr std::array names{"o", "grad_q", "grad_k", "grad_v"};

class Measured {
 public:
  explicit Measured(const Problem& problem)
      : problem_(problem),
        q_(random_memory(problem, 1)),
        k_(random_memory(problem, 2)),
        v_(random_memory(problem, 3)),
        grad_o_(random_memory(problem, 4)) {
    for (std::int64_t t = 0; t < problem.plan.tokens; ++t) {
      for (std::int32_t h = 0; h < problem.plan.heads; ++h) rows_.push_back({t, h});
    }
    output_ =
        compute_reference(problem, rows_, q_.view(problem), k_.view(problem), v_.view(problem));
    gradients_ = compute_reference_gradients(problem, rows_, q_.view(problem), k_.view(problem),
                                             v_.view(problem), grad_o_.view(problem));
  }

  Errors errors_of(std::string_view id) {
    const Implementation& implementation = *find_implementation(id);
    auto prepared = implementation.prepare(problem_);
    EXPECT_TRUE(prepared) << prepared.error().message;
    std::vector<std::byte> workspace(static_cast<std::size_t>((*prepared)->workspace_bytes()));
    std::vector<float> lse(rows_.size());
    Memory o(problem_), grad_q(problem_), grad_k(problem_), grad_v(problem_);
    const Status forward = (*prepared)->forward({.q = q_.view(problem_),
                                                 .k = k_.view(problem_),
                                                 .v = v_.view(problem_),
                                                 .o = o.tensor(problem_),
                                                 .lse = lse,
                                                 .workspace = workspace});
    EXPECT_TRUE(forward) << forward.error().message;
    const Status backward = (*prepared)->backward({.tensors = {.q = q_.view(problem_),
                                                               .k = k_.view(problem_),
                                                               .v = v_.view(problem_),
                                                               .o = o.view(problem_),
                                                               .lse = lse,
                                                               .grad_o = grad_o_.view(problem_),
                                                               .grad_q = grad_q.tensor(problem_),
                                                               .grad_k = grad_k.tensor(problem_),
                                                               .grad_v = grad_v.tensor(problem_)},
                                                   .workspace = workspace});
    EXPECT_TRUE(backward) << backward.error().message;
    const GradientErrors errors = gradient_errors(gradients_, grad_q.tensor(problem_),
                                                  grad_k.tensor(problem_), grad_v.tensor(problem_));
    return {relative_error(output_, o.tensor(problem_)), errors.q, errors.k, errors.v};
  }

 private:
  const Problem& problem_;
  Memory q_, k_, v_, grad_o_;
  std::vector<RowId> rows_;
  ReferenceRows output_;
  ReferenceGradients gradients_;
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
