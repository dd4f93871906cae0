// SPDX-License-Identifier: Apache-2.0
//
// Both attentions on float16 and bfloat16 tensors, against float64 on the inputs as rounded.
#include <gtest/gtest.h>

#include "engine/pattern/axes.h"
#include "tests/kernels/attention_case.h"

namespace attnscope::testing {
namespace {

class SixteenBit : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Attention, SixteenBit, ::testing::Values(DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(SixteenBit, EveryPatternAndWindow_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {101}}});
  for (const std::string pattern : built_in_patterns) {
    for (const std::int64_t w : {0, 1, 4, 64, 5000}) {
      expect_right({.pattern = pattern,
                    .window = Window::of(w),
                    .layout = layout,
                    .heads = 1,
                    .dtype = GetParam()});
    }
    expect_right({.pattern = pattern,
                  .window = Window::infinite(),
                  .layout = layout,
                  .heads = 1,
                  .dtype = GetParam()});
  }
}

TEST_P(SixteenBit, EveryHeadDimension_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 3, .documents = {37}}});
  for (const std::int64_t d :
       {1, 2, 3, 7, 8, 15, 16, 17, 20, 31, 32, 33, 40, 64, 72, 100, 128, 129, 255, 256}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_right({.layout = layout, .head_dim = d, .order = order, .dtype = GetParam()});
    }
  }
}

TEST_P(SixteenBit, OddDocumentLengths_MatchTheReference) {
  for (const std::int64_t n : {0L, 1L, 4L, 7L, 9L, 15L, 16L, 17L, 127L, 129L}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_right({.layout = layout_of({{.cls = 1, .query = 5, .documents = {n}}}),
                    .order = order,
                    .dtype = GetParam()});
    }
  }
}

TEST_P(SixteenBit, HeadMajorItems_MatchTheReference) {
  const SequenceLayout layout =
      SequenceLayout::uniform(3, {.cls = 1, .query = 5, .documents = {43}});
  for (const std::string pattern : built_in_patterns) {
    for (const std::int64_t d : {20, 32}) {
      expect_right({.pattern = pattern,
                    .layout = layout,
                    .heads = 3,
                    .head_dim = d,
                    .order = Order::head_major_items,
                    .dtype = GetParam()});
    }
  }
}

TEST_P(SixteenBit, RaggedListWiseAndEmptyItems_MatchTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 4, .documents = {70}},
                                           {.cls = 1, .query = 9, .documents = {1}},
                                           {.cls = 1, .query = 5, .documents = {30, 0, 17}},
                                           {.cls = 0, .query = 0, .documents = {18}},
                                           {.cls = 1, .query = 2, .documents = {0}}});
  for (const std::string pattern : built_in_patterns) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_right({.pattern = pattern, .layout = layout, .order = order, .dtype = GetParam()});
    }
  }
}

TEST_P(SixteenBit, ASharedQuery_MatchesTheReference) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1, .documents = {40}}, {.cls = 1, .documents = {3}}, {.cls = 1, .documents = {97}}},
      11);
  for (const Order order : {Order::token_major, Order::head_major}) {
    expect_right({.layout = layout, .order = order, .dtype = GetParam()});
  }
}

TEST_P(SixteenBit, SeveralChunksAndBlocks_MatchTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {601}}});
  for (const std::string pattern : {"sparse", "qds", "full"}) {
    expect_right({.pattern = pattern,
                  .window = Window::of(64),
                  .layout = layout,
                  .heads = 1,
                  .dtype = GetParam()});
  }
}

}  // namespace
}  // namespace attnscope::testing
