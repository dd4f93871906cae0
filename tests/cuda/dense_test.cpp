// SPDX-License-Identifier: Apache-2.0
//
// Compares dense attention with cuBLASLt on a GPU with the float64 reference. Skipped without a
// GPU.

#include "kernels/cuda/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/pattern/axes.h"
#include "kernels/cuda/dense/softmax.h"
#include "tests/cuda/device_subjects.h"

namespace attnscope::cuda {
namespace {

using namespace attnscope::testing;
using Content = DeviceTensor::Content;

constexpr std::int64_t item_tokens = 51;

class CudaDense : public ::testing::TestWithParam<DType> {};

TEST_P(CudaDense, IsRightForwardAndBackwardInEveryMemoryOrder) {
  if (const auto reason = no_device()) GTEST_SKIP() << "not run: " << *reason;
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
    DeviceGradients gradients(problem);
    DenseProblem dense_problem;
    dense_problem.queries = dense_problem.keys = {0, item_tokens};
    dense_problem.batch = of.layout.item_count();
    dense_problem.heads = of.heads;
    dense_problem.rows_like = dense_problem.columns_like = gradients.q.view();
    dense_problem.scale = scale_of(of.head_dim);
    dense_problem.passes = Passes::forward_backward;
    const Result<DenseAttention> dense = DenseAttention::prepare(dense_problem);
    ASSERT_TRUE(dense) << dense.error().message;
    const DeviceMemory workspace("workspace", dense->workspace_bytes());
    const DenseMemory memory = {workspace.data(), nullptr};
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
  const Scores scores = {.items = 1, .heads = 1, .rows = 1, .columns = 8, .stride = 8};
  for (int repeat = 0; repeat < 2; ++repeat) {  // the process continues
    const Status status = softmax_forward(scores, nullptr, nullptr, nullptr);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message,
                ::testing::ContainsRegex("CUDA: softmax_forward failed at .*launch.h:[0-9]+: "
                                         ".*[(]cudaError[A-Za-z]+[)]"));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, CudaDense, ::testing::ValuesIn(dtypes), name_of_dtype);

}  // namespace
}  // namespace attnscope::cuda
