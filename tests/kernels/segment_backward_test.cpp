// SPDX-License-Identifier: Apache-2.0
//
// segment_backward against the float64 gradients on the built-in patterns, in all number formats.
#include <gtest/gtest.h>

#include <array>

#include "engine/pattern/axes.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {
namespace {

class SegmentBackward : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Gradients, SegmentBackward,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(SegmentBackward, OnEveryPatternAndWindow_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {101}}});
  for (const std::string pattern : built_in_patterns) {
    for (const std::int64_t w : {0, 1, 4, 64, 5000}) {
      expect_gradients_right({.pattern = pattern,
                              .window = Window::of(w),
                              .layout = layout,
                              .heads = 1,
                              .dtype = GetParam()});
    }
    expect_gradients_right({.pattern = pattern,
                            .window = Window::infinite(),
                            .layout = layout,
                            .heads = 1,
                            .dtype = GetParam()});
  }
}

TEST_P(SegmentBackward, AtEveryHeadDimension_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 3, .documents = {37}}});
  for (const std::int64_t d :
       {1, 2, 3, 7, 8, 15, 16, 17, 20, 31, 32, 33, 40, 64, 72, 100, 128, 129, 255, 256}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_gradients_right(
          {.layout = layout, .head_dim = d, .order = order, .dtype = GetParam()});
    }
  }
}

TEST_P(SegmentBackward, OfOddDocumentLengths_MatchesTheReference) {
  for (const std::int64_t n : {0L, 1L, 4L, 7L, 9L, 15L, 16L, 17L, 127L, 128L, 129L, 257L}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_gradients_right({.layout = layout_of({{.cls = 1, .query = 5, .documents = {n}}}),
                              .order = order,
                              .dtype = GetParam()});
    }
  }
}

TEST_P(SegmentBackward, OfHeadMajorItems_MatchesTheReference) {
  const SequenceLayout layout =
      SequenceLayout::uniform(4, {.cls = 1, .query = 5, .documents = {43}});
  for (const std::string pattern : built_in_patterns) {
    for (const std::int64_t d : {20, 32}) {
      expect_gradients_right({.pattern = pattern,
                              .layout = layout,
                              .heads = 3,
                              .head_dim = d,
                              .order = Order::head_major_items,
                              .dtype = GetParam()});
    }
  }
}

TEST_P(SegmentBackward, OfRaggedItems_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 4, .documents = {70}},
                                           {.cls = 1, .query = 9, .documents = {1}},
                                           {.cls = 1, .query = 0, .documents = {18}},
                                           {.cls = 0, .query = 0, .documents = {5}},
                                           {.cls = 1, .query = 2, .documents = {0}},
                                           {.cls = 1, .query = 0, .documents = {0}},
                                           {.cls = 0, .query = 7, .documents = {20}},
                                           {.cls = 1, .query = 3, .documents = {37}}});
  for (const std::string pattern : built_in_patterns) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_gradients_right(
          {.pattern = pattern, .layout = layout, .order = order, .dtype = GetParam()});
    }
  }
}

TEST_P(SegmentBackward, OfListWiseDocuments_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 5, .documents = {30, 1, 17}},
                                           {.cls = 1, .query = 2, .documents = {0, 64}}});
  for (const std::string pattern : built_in_patterns) {
    expect_gradients_right({.pattern = pattern, .layout = layout, .dtype = GetParam()});
  }
}

TEST_P(SegmentBackward, OfGivenSentenceStarts_MatchesTheReference) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1,
        .query = 5,
        .documents = {90},
        .sentences = {0, 1, 2, 20, 21, 55, 89},
        .sentences_given = true},
       {.cls = 1, .query = 5, .documents = {40}, .sentences = {39}, .sentences_given = true},
       {.cls = 1, .query = 0, .documents = {9, 30}, .sentences = {3, 9}, .sentences_given = true}});
  for (const std::int64_t w : {0, 4, 40}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_gradients_right({.pattern = "qds",
                              .window = Window::of(w),
                              .layout = layout,
                              .order = order,
                              .dtype = GetParam()});
    }
  }
}

TEST_P(SegmentBackward, OfASharedQuery_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .documents = {40}},
                                           {.cls = 1, .documents = {3}},
                                           {.cls = 0, .documents = {11}},
                                           {.cls = 1, .documents = {}},
                                           {.cls = 1, .documents = {97}}},
                                          11);
  for (const Order order : {Order::token_major, Order::head_major}) {
    for (const std::int64_t w : {0, 4, 200}) {
      expect_gradients_right({.window = Window::of(w),
                              .layout = layout,
                              .heads = 3,
                              .order = order,
                              .dtype = GetParam()});
    }
  }
}

TEST_P(SegmentBackward, OfASharedQueryOfManyItems_MatchesTheReference) {
  std::vector<LayoutItem> items(120, {.cls = 1, .documents = {29}});
  expect_gradients_right(
      {.layout = layout_of(std::move(items), 12), .heads = 1, .head_dim = 16, .dtype = GetParam()});
}

TEST_P(SegmentBackward, OfSeveralStripsAndChunks_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {601}}});
  for (const std::string pattern : {"sparse", "longformer", "qds", "full"}) {
    expect_gradients_right({.pattern = pattern,
                            .window = Window::of(64),
                            .layout = layout,
                            .heads = 1,
                            .dtype = GetParam()});
  }
}

TEST(SegmentBackwardOfManyTinyItems, MatchesTheReference) {
  const SequenceLayout layout =
      SequenceLayout::uniform(3000, {.cls = 1, .query = 2, .documents = {3}});
  for (const Order order : {Order::token_major, Order::head_major_items}) {
    for (const std::int64_t w : {0, 1}) {
      expect_gradients_right(
          {.window = Window::of(w), .layout = layout, .heads = 2, .head_dim = 8, .order = order});
    }
  }
}

TEST(SegmentBackwardOfExtremeScores, StaysFinite) {
  const AttentionCase problem{.layout = layout_of({{.cls = 1, .query = 5, .documents = {70}}})};
  Inputs in = random_inputs(problem);
  for (std::int64_t t = 0; t < in.q.tokens; ++t) {
    for (std::int64_t x = 0; x < 32; ++x) in.q.at(t, 0, x) *= 1e4f;
  }
  const AttentionPlan plan = problem.plan();
  const BackwardCase backward = backward_case(plan, in);
  for_each_instruction_set([&](cpu::InstructionSet set) {
    const Gradients gradients = run_backward(plan, backward);
    for (const Packed* of : {&gradients.q, &gradients.k, &gradients.v}) {
      for (std::int64_t t = 0; t < in.q.tokens; ++t) {
        for (std::int64_t x = 0; x < 32; ++x) {
          ASSERT_TRUE(std::isfinite(of->at(t, 0, x))) << cpu::name_of(set) << " token " << t;
        }
      }
    }
  });
}

}  // namespace
}  // namespace attnscope::testing
