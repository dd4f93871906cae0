// SPDX-License-Identifier: Apache-2.0
//
// The fused kernels on the built-in patterns, forward and backward, against the float64 reference.
#include <gtest/gtest.h>

#include "tests/cuda_on_host/segment_case.h"

namespace attnscope::testing {
namespace {

SequenceLayout ragged_items() {
  return layout_of({{.cls = 1, .query = 5, .documents = {70}, .sentences = {0, 30, 60}},
                    {.cls = 1, .query = 4, .documents = {23}, .sentences = {0, 11}}});
}

class CudaSegment : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, CudaSegment,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(CudaSegment, OnTheBuiltInPatterns_IsRight) {
  std::size_t number = 0;
  for (const char* pattern : built_in_patterns) {
    for (const std::int64_t w : {0, 4, 40}) {
      expect_cuda_segment_right({.pattern = pattern,
                                 .window = Window::of(w),
                                 .layout = ragged_items(),
                                 .dtype = GetParam()},
                                places.at(number++ % places.size()));
    }
  }
}

TEST_P(CudaSegment, InEveryMemoryOrder_IsRight) {
  for (const Place place : places) {
    expect_cuda_segment_right({.pattern = "qds", .layout = ragged_items(), .dtype = GetParam()},
                              place);
  }
}

TEST_P(CudaSegment, OnEqualItemsInHeadMajorOrder_IsRight) {
  const std::vector<LayoutItem> items(3, {.cls = 1, .query = 3, .documents = {40}});
  expect_cuda_segment_right(
      {.layout = layout_of(items), .order = Order::head_major_items, .dtype = GetParam()},
      Place::head_major_items);
}

TEST_P(CudaSegment, WithWholeWindows_IsRight) {
  expect_cuda_segment_right(
      {.window = Window::infinite(), .layout = ragged_items(), .dtype = GetParam()},
      Place::token_major);
}

TEST_P(CudaSegment, OnAQuerySharedByDocuments_IsRight) {
  const std::vector<LayoutItem> items(12, {.cls = 1, .documents = {30}});
  expect_cuda_segment_right(
      {.layout = layout_of(items, 7), .heads = 1, .head_dim = 16, .dtype = GetParam()},
      Place::token_major);
}

TEST_P(CudaSegment, WhereOneRowSeesALongDocument_IsRight) {
  expect_cuda_segment_right({.layout = layout_of({{.cls = 1, .query = 3, .documents = {1500}}}),
                             .heads = 1,
                             .head_dim = 16,
                             .dtype = GetParam()},
                            Place::head_major);
}

}  // namespace
}  // namespace attnscope::testing
