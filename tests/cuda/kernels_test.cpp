// SPDX-License-Identifier: Apache-2.0
//
// Compares the CUDA kernels on a GPU with the float64 reference, on shapes small enough for
// compute-sanitizer, without LibTorch. Without a GPU the tests are skipped; the emulation tests the
// same subjects with more cases (tests/kernels/proof_test.cpp).

#include <gtest/gtest.h>

#include "engine/pattern/axes.h"
#include "tests/cuda/device_subjects.h"

namespace attnscope::testing {
namespace {

/// Items with and without a query, one of only [CLS], with lengths close to those of the tiles.
SequenceLayout small_layout() {
  return layout_of(
      {{.query = 5, .documents = {83}, .sentences = {0, 20, 70}, .sentences_given = true},
       {.query = 0, .documents = {17}, .sentences = {0}, .sentences_given = true},
       {.query = 3, .documents = {}, .sentences = {}, .sentences_given = true}});
}

class CudaKernels : public ::testing::TestWithParam<std::tuple<Subject, DType>> {
 protected:
  void SetUp() override {
    if (const auto reason = no_device()) GTEST_SKIP() << "not run: " << *reason;
  }
  static const Subject& subject() { return std::get<0>(GetParam()); }
  static AttentionCase small_case() {
    return {.layout = small_layout(), .dtype = std::get<1>(GetParam())};
  }
};
INSTANTIATE_TEST_SUITE_P(EverySubject, CudaKernels,
                         ::testing::Combine(::testing::ValuesIn(device_subjects()),
                                            ::testing::ValuesIn(dtypes)),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).name + "_" +
                                  std::string(attnscope::name_of(std::get<1>(parameter.param)));
                         });

TEST_P(CudaKernels, AreRightOnEveryPatternForwardAndBackward) {
  AttentionCase problem = small_case();
  for (const char* pattern : patterns) {
    for (const int window : {0, 4, 64}) {
      problem.pattern = pattern;
      problem.window = Window::of(window);
      expect_right(subject(), problem);
    }
  }
  problem = small_case();
  for (const std::int64_t head_dim : {8, 13, 64, 96, 256}) {
    problem.head_dim = head_dim;
    problem.order = problem.order == Order::head_major ? Order::token_major : Order::head_major;
    expect_right(subject(), problem);
  }
}

TEST_P(CudaKernels, AreRightOnNarrowWindows) {
  for (AttentionCase& problem : cases_of_narrow_windows(std::get<1>(GetParam()))) {
    expect_right(subject(), problem);
  }
}

TEST_P(CudaKernels, ConfineNaNToTheRowsThatSeeIt) {
  AttentionCase problem = small_case();
  for (const int window : {4, 16}) {
    problem.window = Window::of(window);
    // [CLS], the query, the start of the document, a token between two warps, its end, the next
    // item.
    expect_confined(subject(), problem, {0, 3, 6, 70, 88, 89, 100});
  }
}

TEST_P(CudaKernels, GiveTheSameBitsInEveryCall) {
  const AttentionCase problem = small_case();
  expect_same_bits(subject(), problem.plan(), problem.inputs(), {1, 2}, problem.text());
}

/// Several blocks run on each multiprocessor, and the work of [CLS] is split.
TEST_P(CudaKernels, GiveTheSameBitsOnManyLongDocuments) {
  AttentionCase problem = small_case();
  problem.layout = SequenceLayout::uniform(8, {.query = 11, .documents = {700}});
  problem.heads = 12;
  expect_same_bits(subject(), problem.plan(), problem.inputs(), {1, 2}, problem.text());
  problem.heads = 1;
  expect_right(subject(), problem);
}

}  // namespace
}  // namespace attnscope::testing
