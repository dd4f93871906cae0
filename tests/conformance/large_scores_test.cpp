// SPDX-License-Identifier: Apache-2.0
//
// Scores of 75 and 175: every float32 implementation is further off than with small ones, none is
// wrong for that, and the fused kernel is off no further than LibTorch's attention.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/proof/call.h"
#include "tests/attention/small_problem.h"

namespace attnscope::tests {
namespace {

/// Inputs of a normal distribution, queries and keys times `factor`.
class LargeScores {
 public:
  LargeScores(const Problem& problem, float factor, unsigned seed)
      : problem_(problem), tensors_(shape_of(problem), problem.device) {
    tensors_.place([&](std::int64_t bytes) { return guarded_room(problem.device, bytes); });
    const CallView view = tensors_.on_host();
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (const Tensor& tensor : {view.q, view.k, view.v, view.grad_o}) {
      if (tensor.data == nullptr) continue;  // no gradient arrives
      const bool is_scored = tensor.data == view.q.data || tensor.data == view.k.data;
      std::vector<float> values(
          static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads * problem.head_dim));
      for (float& value : values) value = normal(random) * (is_scored ? factor : 1);
      pack(values, problem.plan.tokens, problem.plan.heads, tensor);
    }
    const std::int64_t all_rows = problem.plan.tokens * problem.plan.heads;
    reference_ = reference_of(problem, sample_rows(problem.layout, problem.plan.heads, all_rows, 1),
                              tensors_);
  }

  /// Of a call with this scale.
  Verdict verdict_on(std::string_view id, float scale) {
    Problem requested = problem_;
    requested.scale = scale;
    auto prepared = find_implementation(id)->prepare(requested);
    EXPECT_TRUE(prepared) << prepared.error().message;
    const Pass pass = problem_.direction == Direction::forward ? Pass::forward : Pass::both;
    const Room workspace = guarded_room(problem_.device, (*prepared)->workspace_bytes());
    const Status done = call(**prepared, tensors_.on_host(), workspace.values, pass);
    EXPECT_TRUE(done) << done.error().message;
    return judge(reference_, tensors_, pass, (*prepared)->writes_lse());
  }
  Verdict verdict_on(std::string_view id) { return verdict_on(id, problem_.scale); }
  [[nodiscard]] double output_error() const {
    return relative_error(reference_.rows, tensors_.on_host().o);
  }

 private:
  const Problem& problem_;
  CallTensors tensors_;
  Reference reference_;
};

constexpr std::array factors{1.0F, 2.0F, 4.0F, 6.0F};

TEST(LargeScores, AreRightInEveryImplementationAndDType_AndGradientsToo) {
  for (const std::string_view pattern : {"full", "sparse"}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      SmallProblem small(pattern, pattern == "full" ? std::nullopt : std::optional(Window::of(16)),
                         SequenceLayout::uniform(1, item(1, 10, 118)), 4, 32);
      small.problem.dtype = dtype;
      for (const float factor : factors) {
        for (const Implementation* one : implementations()) {
          small.problem.direction = Direction::forward_backward;
          if (!one->supports(small.problem)) small.problem.direction = Direction::forward;
          if (!one->supports(small.problem)) continue;
          LargeScores scores(small.problem, factor, 5);
          EXPECT_EQ(scores.verdict_on(one->id).wrong, "")
              << fmt::format("{} of {} in {}, times {}", one->id, pattern, name_of(dtype), factor);
        }
      }
    }
  }
}

TEST(LargeScores, OfAnotherScaleAreWrong) {
  SmallProblem small("full", std::nullopt, SequenceLayout::uniform(1, item(1, 10, 118)), 4, 32);
  for (const float factor : factors) {
    LargeScores scores(small.problem, factor, 5);
    EXPECT_THAT(scores.verdict_on("segment", small.problem.scale * 1.0003F).wrong,
                testing::HasSubstr("output"))
        << factor;
  }
}

TEST(LargeScores, OfTheFusedKernelAreOffNoFurtherThanLibTorchs) {
  for (const std::int64_t head_dim : {32, 64}) {
    SmallProblem small("full", std::nullopt, SequenceLayout::uniform(1, item(1, 10, 118)), 4,
                       head_dim);
    double ours = 0, theirs = 0;
    for (unsigned seed = 1; seed <= 8; ++seed) {
      LargeScores scores(small.problem, 5, seed);
      static_cast<void>(scores.verdict_on("segment"));
      ours += scores.output_error();
      static_cast<void>(scores.verdict_on("sdpa"));
      theirs += scores.output_error();
    }
    EXPECT_LT(ours, theirs) << head_dim;  // 0.7 of it
  }
}

}  // namespace
}  // namespace attnscope::tests
