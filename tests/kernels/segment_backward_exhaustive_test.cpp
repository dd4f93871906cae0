// SPDX-License-Identifier: Apache-2.0
//
// segment_backward for every document of up to 24 tokens and every window that cuts it.
#include <gtest/gtest.h>

#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {
namespace {

void expect_right_for_every_window(const LayoutItem& surroundings) {
  for (std::int64_t n = 0; n <= 24; ++n) {
    LayoutItem item = surroundings;
    item.documents = {n};
    const SequenceLayout layout = *SequenceLayout::make({item});
    for (std::int64_t w = 0; w <= n; ++w) {
      for (const Order order : {Order::token_major, Order::head_major}) {
        expect_gradients_right(
            {.window = Window::of(w), .layout = layout, .heads = 1, .head_dim = 8, .order = order});
      }
    }
  }
}

TEST(SegmentBackwardOfShortDocuments, AloneWithEveryWindow_MatchesTheReference) {
  expect_right_for_every_window({.cls = 0, .query = 0});
}

TEST(SegmentBackwardOfShortDocuments, BesideClassAndQueryWithEveryWindow_MatchesTheReference) {
  expect_right_for_every_window({.cls = 1, .query = 3});
}

}  // namespace
}  // namespace attnscope::testing
