// SPDX-License-Identifier: Apache-2.0
//
// windowed_backward against the float64 gradients: patterns, windows, lengths, number formats.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "engine/pattern/axes.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/hand_made_plans.h"
#include "tests/kernels/windowed_gradient_case.h"

namespace attnscope::testing {
namespace {

class WindowedBackward : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Gradients, WindowedBackward,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(WindowedBackward, OnEveryPatternAndWindow_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {101}}});
  for (const std::string pattern : built_in_patterns) {
    for (const std::int64_t w : {0, 1, 4, 16, 64, 5000}) {
      expect_windowed_gradients_right({.pattern = pattern,
                                       .window = Window::of(w),
                                       .layout = layout,
                                       .heads = 1,
                                       .dtype = GetParam()});
    }
  }
}

TEST_P(WindowedBackward, AtEveryHeadDimension_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 3, .documents = {37}}});
  for (const std::int64_t d : {1, 3, 8, 15, 16, 17, 20, 32, 40, 64, 100, 128, 129, 255, 256}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_windowed_gradients_right(
          {.layout = layout, .head_dim = d, .order = order, .dtype = GetParam()});
    }
  }
}

TEST_P(WindowedBackward, OfOddDocumentLengths_MatchesTheReference) {
  for (const std::int64_t n : {0, 1, 2, 7, 8, 9, 10, 17, 31, 127, 129, 257}) {
    for (const std::int64_t w : {0, 1, 4}) {
      expect_windowed_gradients_right({.window = Window::of(w),
                                       .layout = layout_of({{.query = 5, .documents = {n}}}),
                                       .order = Order::head_major,
                                       .dtype = GetParam()});
    }
  }
}

TEST_P(WindowedBackward, OfHeadMajorItems_MatchesTheReference) {
  const SequenceLayout layout = SequenceLayout::uniform(4, {.query = 5, .documents = {43}});
  for (const std::string pattern : built_in_patterns) {
    for (const std::int64_t d : {20, 32}) {
      expect_windowed_gradients_right({.pattern = pattern,
                                       .layout = layout,
                                       .heads = 3,
                                       .head_dim = d,
                                       .order = Order::head_major_items,
                                       .dtype = GetParam()});
    }
  }
}

TEST_P(WindowedBackward, OfRaggedAndListWiseItems_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 4, .documents = {70}},
                                           {.cls = 1, .query = 9, .documents = {1}},
                                           {.cls = 0, .query = 0, .documents = {5}},
                                           {.cls = 1, .query = 2, .documents = {0}},
                                           {.cls = 0, .query = 7, .documents = {20}},
                                           {.cls = 1, .query = 5, .documents = {30, 1, 0, 17}}});
  for (const std::string pattern : built_in_patterns) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_windowed_gradients_right(
          {.pattern = pattern, .layout = layout, .order = order, .dtype = GetParam()});
    }
  }
}

TEST_P(WindowedBackward, OfGivenSentenceStarts_MatchesTheReference) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1,
        .query = 5,
        .documents = {90},
        .sentences = {0, 1, 2, 20, 21, 55, 89},
        .sentences_given = true},
       {.cls = 1, .query = 5, .documents = {40}, .sentences = {39}, .sentences_given = true}});
  for (const std::int64_t w : {0, 4, 40}) {
    expect_windowed_gradients_right(
        {.pattern = "qds", .window = Window::of(w), .layout = layout, .dtype = GetParam()});
  }
}

TEST_P(WindowedBackward, OfASharedQuery_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .documents = {40}},
                                           {.cls = 1, .documents = {3}},
                                           {.cls = 0, .documents = {11}},
                                           {.cls = 1, .documents = {}},
                                           {.cls = 1, .documents = {97}}},
                                          11);
  for (const std::int64_t w : {0, 4, 200}) {
    expect_windowed_gradients_right(
        {.window = Window::of(w), .layout = layout, .heads = 3, .dtype = GetParam()});
  }
}

TEST_P(WindowedBackward, OnPlansMadeByHand_MatchesTheReference) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    if (fused_only) continue;
    const KeysOf keys = keys_from_plan(plan);
    for (const std::int64_t d : {20, 32}) {
      for (const Order order : {Order::token_major, Order::head_major}) {
        const Inputs in = random_inputs(plan.tokens, plan.heads, d, order, 0, 3, GetParam());
        expect_windowed_gradients_right(plan, in, keys,
                                        fmt::format("{} d={} {}", name, d, name_of(order)));
      }
    }
  }
}

// One head of so many rows that the sums of [CLS] and the query are cut into portions.
const AttentionCase long_document{
    .layout = layout_of({{.cls = 1, .query = 12, .documents = {9000}}}), .heads = 1, .head_dim = 8};

TEST(WindowedBackwardOfKeysThatManyRowsSee, MatchesTheReference) {
  expect_windowed_gradients_right(long_document);
}

TEST(WindowedBackwardOfManyTinyItems, MatchesTheReference) {
  const SequenceLayout layout =
      SequenceLayout::uniform(500, {.cls = 1, .query = 2, .documents = {3}});
  for (const Order order : {Order::token_major, Order::head_major_items}) {
    expect_windowed_gradients_right(
        {.window = Window::of(1), .layout = layout, .head_dim = 8, .order = order});
  }
}

TEST(WindowedBackwardThreads, TheirNumberDoesNotChangeABit) {
  const AttentionCase ragged{
      .pattern = "qds",
      .window = Window::of(16),
      .layout = layout_of({{.query = 9, .documents = {300}}, {.query = 9, .documents = {40, 171}}}),
      .heads = 3};
  for (const AttentionCase& problem : {long_document, ragged}) {
    const AttentionPlan plan = problem.plan();
    const Inputs in = random_inputs(problem);
    const Packed grad_o = random_like(in.q, 7);
    for_each_instruction_set([&](cpu::InstructionSet set) {
      const Gradients one = run_windowed_backward(plan, in, grad_o, 1);
      for (const int threads : {1, 2, 3}) {
        EXPECT_TRUE(same_bits(one, run_windowed_backward(plan, in, grad_o, threads)))
            << cpu::name_of(set) << " " << threads << " threads " << problem.text();
      }
    });
  }
}

TEST(WindowedBackwardArguments, ThatDoNotFitAreErrors) {
  const AttentionCase problem{.layout = layout_of({{.query = 3, .documents = {20}}})};
  const AttentionPlan plan = problem.plan();
  const Inputs in = random_inputs(problem);
  Gradients out{in.q, in.q, in.q};
  GradientTensors tensors{.q = in.q.view(),
                          .k = in.k.view(),
                          .v = in.v.view(),
                          .o = in.q.view(),
                          .lse = {},
                          .grad_o = in.q.view(),
                          .grad_q = out.q.tensor(),
                          .grad_k = out.k.tensor(),
                          .grad_v = out.v.tensor()};
  std::vector<float> weights(static_cast<std::size_t>(cpu::windowed_score_elements(plan)));
  std::vector<float> memory(static_cast<std::size_t>(cpu::windowed_backward_elements(plan, 32)));
  const auto error = [&](int threads = 1) {
    const Status done = cpu::windowed_backward(plan, tensors, 1.0f, weights, threads, memory);
    return done ? std::string("none") : done.error().message;
  };
  EXPECT_EQ(error(), "none");
  EXPECT_THAT(error(0), ::testing::HasSubstr("at least 1 thread"));
  tensors.grad_k.head_dim = 16;
  EXPECT_THAT(error(), ::testing::HasSubstr("grad_k has head dimension 16"));
  tensors.grad_k = out.k.tensor();
  tensors.grad_o.dtype = DType::float16;
  EXPECT_THAT(error(), ::testing::HasSubstr("grad_o is of another type"));
  tensors.grad_o = in.q.view();
  tensors.grad_v.data = nullptr;
  EXPECT_THAT(error(), ::testing::HasSubstr("grad_v has no data"));
  tensors.grad_v = out.v.tensor();
  memory.pop_back();
  EXPECT_THAT(error(), ::testing::HasSubstr("windowed_backward_elements"));
  weights.pop_back();
  EXPECT_THAT(error(), ::testing::HasSubstr("weights"));
}

TEST(WindowedBackwardOfAnEmptyPlan, IsDoneAtOnce) {
  const AttentionPlan plan;
  const ConstTensor none{.head_dim = 32};
  const Tensor nowhere{.head_dim = 32};
  std::vector<float> memory(static_cast<std::size_t>(cpu::windowed_backward_elements(plan, 32)));
  EXPECT_TRUE(cpu::windowed_backward(
      plan, {none, none, none, none, {}, none, nowhere, nowhere, nowhere}, 1.0f, {}, 2, memory));
}

}  // namespace
}  // namespace attnscope::testing
