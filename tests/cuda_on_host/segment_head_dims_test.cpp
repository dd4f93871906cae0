// SPDX-License-Identifier: Apache-2.0
//
// The fused kernels at head dimensions inside and at the ends of their classes.
#include <gtest/gtest.h>

#include "tests/cuda_on_host/segment_case.h"

namespace attnscope::testing {
namespace {

class CudaSegment : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, CudaSegment,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(CudaSegment, OfEveryHeadDimension_IsRightInEveryMemoryOrder) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1, .query = 5, .documents = {40}}, {.cls = 1, .query = 3, .documents = {18}}});
  for (const std::int64_t d : {8, 16, 20, 32, 33, 64, 100, 128, 256}) {
    for (const Place place : places) {
      expect_cuda_segment_right({.layout = layout, .heads = 2, .head_dim = d, .dtype = GetParam()},
                                place);
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
