// SPDX-License-Identifier: Apache-2.0
//
// Compares the CUDA kernels, and dense attention with cuBLASLt, on a GPU with the float64
// reference, on shapes small enough for compute-sanitizer, without LibTorch. Without a GPU the
// tests are skipped; the emulation tests the same subjects with more cases
// (tests/kernels/proof_test.cpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/pattern/axes.h"
#include "kernels/cuda/dense.h"
#include "kernels/cuda/dense/softmax.h"
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

/// Dense attention with cuBLASLt.
class CudaDense : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(EveryDType, CudaDense, ::testing::ValuesIn(dtypes), name_of_dtype);

TEST_P(CudaDense, IsRightForwardAndBackwardInEveryMemoryOrder) {
  if (const auto reason = no_device()) GTEST_SKIP() << "not run: " << *reason;
  using Content = DeviceTensor::Content;
  constexpr std::int64_t item_tokens = 51;
  AttentionCase of{
      .pattern = "full",
      .layout = SequenceLayout::uniform(2, {.query = 10, .documents = {item_tokens - 11}}),
      .dtype = GetParam()};
  for (const Order order : {Order::token_major_apart, Order::head_major, Order::head_major_items}) {
    of.order = order;
    SCOPED_TRACE(of.text());
    BackwardCase problem{of.inputs(), {of.inputs().q, {}}, random_like(of.inputs().q, 7)};
    const DeviceTensor o("o", problem.in.q, Content::unwritten);
    const DeviceMemory lse("lse", problem.in.q.tokens * problem.in.q.heads * 4);
    const DeviceGradients gradients(problem);
    const Result<cuda::DenseAttention> dense =
        cuda::DenseAttention::prepare({.queries = {0, item_tokens},
                                       .keys = {0, item_tokens},
                                       .batch = of.layout.item_count(),
                                       .heads = of.heads,
                                       .rows_like = gradients.q.view(),
                                       .columns_like = gradients.q.view(),
                                       .scale = scale_of(of.head_dim),
                                       .passes = Passes::forward_backward});
    ASSERT_TRUE(dense) << dense.error().message;
    const DeviceMemory workspace("workspace", dense->workspace_bytes());
    const cuda::DenseMemory memory = {workspace.data(), nullptr};
    const GradientTensors t = gradients.tensors();
    const Status forward = dense->forward(
        {t.q.data, t.k.data, t.v.data, o.tensor().data, lse.floats(), memory}, nullptr);
    ASSERT_TRUE(forward) << forward.error().message;
    const Status backward = dense->backward({t.q.data, t.k.data, t.v.data, t.grad_o.data,
                                             t.grad_q.data, t.grad_k.data, t.grad_v.data, memory},
                                            nullptr);
    ASSERT_TRUE(backward) << backward.error().message;
    problem.forward = {o.read_back(), lse.read_floats()};
    // Scores are rounded to the type before their softmax.
    const Reference right = reference(of.keys(), problem.in);
    const double rounding = unit_roundoff(of.dtype);
    expect_near(problem.forward.o, right.o,
                (8 * rounding + 4e-6) * std::max(1.0, right.largest_value), "forward");
    for (std::size_t row = 0; row < right.lse.size(); ++row) {
      ASSERT_NEAR(double{problem.forward.lse[row]}, right.lse[row], 16 * rounding + 1e-5) << row;
    }
    expect_near(gradients.read_back(), reference_gradients(of.keys(), exact(problem)), "backward");
  }
}

TEST(CudaWithoutADevice, ALaunchFailsWithTheCallTheLineAndTheReason) {
  if (!no_device()) GTEST_SKIP() << "not run: there is a device";
  const cuda::Scores scores = {.items = 1, .heads = 1, .rows = 1, .columns = 8, .stride = 8};
  for (int repeat = 0; repeat < 2; ++repeat) {  // the process continues
    const Status status = cuda::softmax_forward(scores, nullptr, nullptr, nullptr);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message,
                ::testing::ContainsRegex("CUDA: softmax_forward failed at .*launch.h:[0-9]+: "
                                         ".*[(]cudaError[A-Za-z]+[)]"));
  }
}

}  // namespace
}  // namespace attnscope::testing
