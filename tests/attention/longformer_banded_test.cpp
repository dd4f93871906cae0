// SPDX-License-Identifier: Apache-2.0
//
// What the banded implementation promises beside right numbers: the band's memory and no more, the
// pattern's products and no more, the same bits whoever computes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "kernels/cpu/instruction_set.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/attention/small_problem.h"

namespace attnscope::tests {
namespace {

std::unique_ptr<PreparedAttention> prepared(const Problem& problem) {
  return find_implementation("longformer-banded")->prepare(problem).value();
}

TEST(LongformerBandedMemory, IsTheBandAloneInBothDirections) {
  const std::int64_t n = 50, heads = 2;
  for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
    SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(0, 0, n)));
    small.problem.direction = direction;
    EXPECT_EQ(prepared(small.problem)->workspace_bytes(), 3 * heads * n * (2 * 4 + 1) * 4);
    EXPECT_EQ(prepared(small.problem)->predicted_peak_bytes(), 3 * heads * n * (2 * 4 + 1) * 4);
  }
}

TEST(LongformerBandedMemory, GrowsByAColumnForEachGlobalKey) {
  // [CLS] and 3 query tokens see all 14 or 3; each of the 10 tokens sees these 4 and its window.
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

TEST(LongformerBandedWork, OfBackward_IsFourProductsMoreAndFivePassesOverTheBand) {
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

TEST(LongformerBandedRefusals, NameTheHeadDimensionsItTakes) {
  SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 3, 9)));
  small.problem.head_dim = 257;
  const Status ok = find_implementation("longformer-banded")->supports(small.problem);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, ::testing::HasSubstr("head dimensions 1 to 256, not 257"));
}

/// All that a forward and a backward call write.
struct Written {
  std::vector<float> o, lse, grad_q, grad_k, grad_v;
  friend bool operator==(const Written&, const Written&) = default;
};

Written run(Problem problem, int threads) {
  problem.direction = Direction::forward_backward;
  problem.threads = threads;
  const auto size = static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads);
  const std::size_t numbers = size * static_cast<std::size_t>(problem.head_dim);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> q(numbers), k(numbers), v(numbers), grad_o(numbers);
  for (auto* values : {&q, &k, &v, &grad_o}) {
    for (float& value : *values) value = normal(random);
  }
  Written written{std::vector<float>(numbers), std::vector<float>(size),
                  std::vector<float>(numbers), std::vector<float>(numbers),
                  std::vector<float>(numbers)};
  const auto tensor = [&](std::vector<float>& values) {
    return packed_tensor(problem.layout, problem.plan.heads, problem.head_dim, problem.dtype,
                         problem.memory_order, reinterpret_cast<std::byte*>(values.data()));
  };
  const auto input = [&](std::vector<float>& values) {
    return attnscope::as_const(tensor(values));
  };
  const auto band = prepared(problem);
  std::vector<std::byte> workspace(static_cast<std::size_t>(band->workspace_bytes()));
  EXPECT_TRUE(band->forward({.q = input(q),
                             .k = input(k),
                             .v = input(v),
                             .o = tensor(written.o),
                             .lse = written.lse,
                             .workspace = workspace}));
  EXPECT_TRUE(band->backward({.tensors = {.q = input(q),
                                          .k = input(k),
                                          .v = input(v),
                                          .o = input(written.o),
                                          .lse = written.lse,
                                          .grad_o = input(grad_o),
                                          .grad_q = tensor(written.grad_q),
                                          .grad_k = tensor(written.grad_k),
                                          .grad_v = tensor(written.grad_v)},
                              .workspace = workspace}));
  return written;
}

TEST(LongformerBandedThreads, AnyNumberOfThem_GivesTheSameBits) {
  const SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(1, 5, 70)), 3,
                           20);
  const Written one = run(small.problem, 1);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(one, run(small.problem, threads)) << threads;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
}

TEST(LongformerBandedLoops, OfEveryInstructionSet_Agree) {
  const SmallProblem small("qds", Window::of(4), SequenceLayout::uniform(2, item(1, 5, 70)), 2, 33);
  ASSERT_TRUE(cpu::select(cpu::InstructionSet::baseline));
  const Written baseline = run(small.problem, 2);
  for (const cpu::InstructionSet set : cpu::available_sets()) {
    ASSERT_TRUE(cpu::select(set));
    const Written written = run(small.problem, 2);
    expect_near(baseline.o, written.o);
    expect_near(baseline.lse, written.lse);
    expect_near(baseline.grad_q, written.grad_q);
    expect_near(baseline.grad_k, written.grad_k);
    expect_near(baseline.grad_v, written.grad_v);
  }
  ASSERT_TRUE(cpu::select(std::nullopt));
}

}  // namespace
}  // namespace attnscope::tests
