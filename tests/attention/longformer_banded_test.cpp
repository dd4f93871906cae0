// SPDX-License-Identifier: Apache-2.0
//
// The banded implementation apart from its numbers: exactly the band's memory and the pattern's
// products, and results that do not depend on threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/instruction_set.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/attention/small_problem.h"

namespace attnscope::tests {
namespace {

std::unique_ptr<PreparedAttention> prepared(const Problem& problem) {
  return prepare("longformer-banded", problem);
}

TEST(LongformerBandedMemory, IsTheBandInBothDirections) {
  const std::int64_t n = 50, heads = 2;
  for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
    SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(0, 0, n)));
    small.problem.direction = direction;
    EXPECT_EQ(prepared(small.problem)->workspace_bytes(), 3 * heads * n * (2 * 4 + 1) * 4);
    EXPECT_EQ(prepared(small.problem)->predicted_peak_bytes(), 3 * heads * n * (2 * 4 + 1) * 4);
  }
}

TEST(LongformerBandedMemory, GrowsByAColumnForEachGlobalKey) {
  // [CLS] and 3 query tokens attend to all 14 or 3; each of the 10 tokens to these 4 and its
  // window.
  const SmallProblem small("sparse", Window::of(2), SequenceLayout::uniform(1, item(1, 3, 10)));
  EXPECT_EQ(prepared(small.problem)->workspace_bytes(), 2 * (14 + 3 * 3 + 10 * (4 + 5)) * 4);
}

TEST(LongformerBandedWork, IsTheBandWithoutTheCellsBeyondItsEnds) {
  const std::int64_t n = 50, heads = 2, dim = 8, w = 4;
  SmallProblem small("sparse", Window::of(w), SequenceLayout::uniform(3, item(0, 0, n)));
  const std::int64_t cells = n * (2 * w + 1), beyond = w * (w + 1);
  const ExecutedWork forward = prepared(small.problem)->executed();
  EXPECT_EQ(forward.flop, 4.0 * 3 * heads * dim * static_cast<double>(cells - beyond));
  EXPECT_EQ(forward.flop, useful_flop(count(small.plan), dim));
  // q, k, v and o once; the band written, normalised in place and read.
  EXPECT_EQ(forward.bytes, 4.0 * 3 * heads * static_cast<double>(4 * n * dim + 4 * cells));
  small.problem.operation = Operation::windowed_matmul;
  EXPECT_EQ(prepared(small.problem)->executed().flop, forward.flop);
  EXPECT_EQ(prepared(small.problem)->executed().bytes,
            4.0 * 3 * heads * static_cast<double>(4 * n * dim + 2 * cells));
}

TEST(LongformerBandedWork, OfBackwardIsFourProductsAndFivePassesOverTheBand) {
  const std::int64_t n = 50, heads = 2, dim = 8, w = 4, cells = n * (2 * w + 1);
  SmallProblem small("sparse", Window::of(w), SequenceLayout::uniform(3, item(0, 0, n)));
  const ExecutedWork forward = prepared(small.problem)->executed();
  small.problem.direction = Direction::forward_backward;
  const ExecutedWork both = prepared(small.problem)->executed();
  EXPECT_EQ(both.flop, 3 * forward.flop);
  // q, k, v, o and twice grad_o are read, three gradients written; the weights are read twice,
  // become the scores' gradients, and these are read twice.
  EXPECT_EQ(both.bytes - forward.bytes,
            4.0 * 3 * heads * static_cast<double>(9 * n * dim + 5 * cells));
}

TEST(LongformerBanded, DeclinesWideHeads) {
  SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 3, 9)));
  small.problem.head_dim = 257;
  EXPECT_THAT(refusal("longformer-banded", small.problem),
              ::testing::HasSubstr("head dimensions 1 to 256, not 257"));
}

/// Everything that a forward and a backward call write: o, the log-sum-exps and three gradients.
std::vector<std::vector<float>> run(Problem problem, int threads) {
  problem.direction = Direction::forward_backward;
  problem.threads = threads;
  CallMemory memory(problem);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (TensorMemory* tensor : {&memory.q, &memory.k, &memory.v, &memory.grad_o}) {
    std::vector<float> values(static_cast<std::size_t>(tensor->values()));
    for (float& value : values) value = normal(random);
    tensor->set(values);
  }
  const auto band = prepared(problem);
  std::vector<std::byte> workspace(static_cast<std::size_t>(band->workspace_bytes()));
  EXPECT_TRUE(band->forward(memory.forward(workspace)));
  EXPECT_TRUE(band->backward(memory.backward(workspace)));
  std::vector<std::vector<float>> written{memory.lse};
  for (TensorMemory* tensor : {&memory.o, &memory.grad_q, &memory.grad_k, &memory.grad_v}) {
    std::vector<float>& values = written.emplace_back(static_cast<std::size_t>(tensor->values()));
    unpack(tensor->input(), problem.plan.tokens, problem.plan.heads, values);
  }
  return written;
}

TEST(LongformerBanded, GivesTheSameBitsForAnyNumberOfThreads) {
  const SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(1, 5, 70)), 3,
                           20);
  const auto expected = run(small.problem, 1);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(expected, run(small.problem, threads)) << threads;
}

TEST(LongformerBanded, GivesTheSameNumbersOnEveryInstructionSet) {
  const SmallProblem small("qds", Window::of(4), SequenceLayout::uniform(2, item(1, 5, 70)), 2, 33);
  ASSERT_TRUE(cpu::select(cpu::InstructionSet::baseline));
  const auto baseline = run(small.problem, 2);
  for (const cpu::InstructionSet set : cpu::available_sets()) {
    ASSERT_TRUE(cpu::select(set));
    const auto written = run(small.problem, 2);
    for (std::size_t t = 0; t < baseline.size(); ++t) {
      EXPECT_THAT(written[t], ::testing::Pointwise(::testing::FloatNear(1e-5F), baseline[t]));
    }
  }
  ASSERT_TRUE(cpu::select(std::nullopt));
}

}  // namespace
}  // namespace attnscope::tests
