// SPDX-License-Identifier: Apache-2.0
//
// Scores of 75 and 175 increase the error of every float32 implementation. None becomes wrong, and
// the fused kernel's error is not larger than that of LibTorch's attention.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/attention/small_problem.h"
#include "tests/conformance/reference_call.h"

namespace attnscope::tests {
namespace {

/// Inputs of a normal distribution, queries and keys times `factor`.
ReferenceCall large_scores(const Problem& problem, float factor, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  return ReferenceCall(
      problem, [&](std::size_t tensor) { return normal(random) * (tensor < 2 ? factor : 1); });
}

constexpr std::array factors{1.0F, 2.0F, 4.0F, 6.0F};

TEST(LargeScores, AreRightInEveryImplementationAndDtypeWithGradients) {
  for (const std::string_view pattern : {"full", "sparse"}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      SmallProblem small(pattern, pattern == "full" ? std::nullopt : std::optional(Window::of(16)),
                         SequenceLayout::uniform(1, item(1, 10, 118)), 4, 32);
      small.problem.dtype = dtype;
      for (const float factor : factors) {
        for (const Implementation* listed : implementations()) {
          small.problem.direction = Direction::forward_backward;
          if (!listed->supports(small.problem)) small.problem.direction = Direction::forward;
          if (!listed->supports(small.problem)) continue;
          ReferenceCall scores = large_scores(small.problem, factor, 5);
          EXPECT_EQ(scores.run(listed->id).wrong, "") << fmt::format(
              "{} of {} in {}, times {}", listed->id, pattern, name_of(dtype), factor);
        }
      }
    }
  }
}

TEST(LargeScores, WithAnotherScaleAreWrong) {
  SmallProblem small("full", std::nullopt, SequenceLayout::uniform(1, item(1, 10, 118)), 4, 32);
  for (const float factor : factors) {
    ReferenceCall scores = large_scores(small.problem, factor, 5);
    EXPECT_THAT(scores.run("segment", small.problem.scale * 1.0003F).wrong,
                testing::HasSubstr("output"))
        << factor;
  }
}

TEST(LargeScores, HaveNoLargerErrorInTheFusedKernelThanInLibTorch) {
  for (const std::int64_t head_dim : {32, 64}) {
    SmallProblem small("full", std::nullopt, SequenceLayout::uniform(1, item(1, 10, 118)), 4,
                       head_dim);
    double ours = 0, theirs = 0;
    for (unsigned seed = 1; seed <= 8; ++seed) {
      ReferenceCall scores = large_scores(small.problem, 5, seed);
      static_cast<void>(scores.run("segment"));
      ours += scores.output_error();
      static_cast<void>(scores.run("sdpa"));
      theirs += scores.output_error();
    }
    EXPECT_LT(ours, theirs) << head_dim;  // 0.7 of it
  }
}

}  // namespace
}  // namespace attnscope::tests
