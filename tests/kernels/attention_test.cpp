// SPDX-License-Identifier: Apache-2.0
//
// Both attentions against the float64 reference on the built-in patterns.
#include <gtest/gtest.h>

#include "tests/kernels/attention_case.h"

namespace attnscope::testing {
namespace {

class OnEveryPattern : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Attention, OnEveryPattern,
                         ::testing::Values("full", "sparse", "sparse-without-independent-query",
                                           "longformer", "qds", "listwise"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(OnEveryPattern, OddDocumentLengths_MatchTheReference) {
  for (const std::int64_t w : {4, 16}) {
    for (const std::int64_t n : {1L, w, 2 * w - 1, 2 * w + 1, 15L, 16L, 17L, 127L, 129L, 151L}) {
      expect_right({.pattern = GetParam(),
                    .window = Window::of(w),
                    .layout = layout_of({{.cls = 1, .query = 5, .documents = {n}}})});
    }
  }
}

TEST_P(OnEveryPattern, EveryWindow_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {101}}});
  for (const std::int64_t w : {0, 1, 2, 3, 4, 7, 8, 64, 100, 101, 5000}) {
    expect_right({.pattern = GetParam(), .window = Window::of(w), .layout = layout});
  }
  expect_right({.pattern = GetParam(), .window = Window::infinite(), .layout = layout});
}

TEST_P(OnEveryPattern, EveryHeadDimension_MatchesTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 3, .documents = {61}}});
  for (const std::int64_t d : {1, 3, 8, 16, 20, 32, 40, 64, 100, 128, 256}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      expect_right({.pattern = GetParam(), .layout = layout, .head_dim = d, .order = order});
    }
  }
}

TEST_P(OnEveryPattern, EmptyQueryOrDocumentOrClass_MatchesTheReference) {
  for (const LayoutItem& item : {LayoutItem{.cls = 1, .query = 0, .documents = {33}},
                                 LayoutItem{.cls = 1, .query = 7, .documents = {0}},
                                 LayoutItem{.cls = 0, .query = 7, .documents = {20}},
                                 LayoutItem{.cls = 0, .query = 0, .documents = {20}},
                                 LayoutItem{.cls = 1, .query = 0, .documents = {0}}}) {
    expect_right({.pattern = GetParam(), .layout = layout_of({item})});
  }
}

TEST_P(OnEveryPattern, ItemsOfDifferentLength_MatchTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 4, .documents = {70}},
                                           {.cls = 1, .query = 9, .documents = {1}},
                                           {.cls = 1, .query = 0, .documents = {18}},
                                           {.cls = 1, .query = 2, .documents = {0}},
                                           {.cls = 1, .query = 3, .documents = {37}}});
  for (const Order order : {Order::token_major, Order::head_major}) {
    expect_right({.pattern = GetParam(), .layout = layout, .order = order});
  }
}

TEST_P(OnEveryPattern, HeadMajorItems_MatchTheReference) {
  const SequenceLayout layout =
      SequenceLayout::uniform(4, {.cls = 1, .query = 5, .documents = {43}});
  for (const std::int64_t d : {20, 32}) {
    expect_right({.pattern = GetParam(),
                  .layout = layout,
                  .heads = 3,
                  .head_dim = d,
                  .order = Order::head_major_items});
  }
}

TEST_P(OnEveryPattern, ListWiseDocuments_MatchTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 5, .documents = {30, 1, 17}},
                                           {.cls = 1, .query = 2, .documents = {0, 64}}});
  expect_right({.pattern = GetParam(), .layout = layout});
  expect_right({.pattern = GetParam(), .layout = layout, .order = Order::head_major});
}

TEST_P(OnEveryPattern, GivenSentenceStarts_MatchTheReference) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1,
        .query = 5,
        .documents = {90},
        .sentences = {0, 1, 2, 20, 21, 55, 89},
        .sentences_given = true},
       {.cls = 1, .query = 5, .documents = {40}, .sentences = {39}, .sentences_given = true}});
  for (const std::int64_t w : {0, 4, 40}) {
    expect_right({.pattern = GetParam(), .window = Window::of(w), .layout = layout});
  }
}

TEST(SharedQuery, IsAttendedByAllItems) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1, .documents = {40}}, {.cls = 1, .documents = {3}}, {.cls = 1, .documents = {97}}},
      11);
  for (const Order order : {Order::token_major, Order::head_major}) {
    expect_right({.layout = layout, .order = order});
  }
}

TEST(ManyTinyItems, MatchTheReference) {
  std::vector<LayoutItem> items;
  for (std::int64_t i = 0; i < 150; ++i) {
    items.push_back({.cls = 1, .query = 0, .documents = {i % 4}});
  }
  expect_right({.window = Window::of(1), .layout = layout_of(std::move(items)), .head_dim = 8});
}

TEST(LongDocument, SeveralChunksAndBlocks_MatchTheReference) {
  const SequenceLayout layout = layout_of({{.cls = 1, .query = 11, .documents = {601}}});
  for (const std::string pattern : {"sparse", "qds", "full"}) {
    for (const std::int64_t w : {4, 64, 300}) {
      expect_right({.pattern = pattern, .window = Window::of(w), .layout = layout, .heads = 1});
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
