// SPDX-License-Identifier: Apache-2.0
//
// Dense attention with cuBLASLt on a GPU against the float64 reference; skipped where there is
// none.

#include "kernels/cuda/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/dense/softmax.h"
#include "tests/cuda/on_device.h"

namespace attnscope::cuda {
namespace {

using namespace attnscope::testing;

constexpr std::int64_t item_tokens = 51;

void run_dense(const AttentionPlan& plan, OnDevice& device) {
  DenseProblem problem;
  problem.queries = problem.keys = {0, item_tokens};
  problem.batch = plan.tokens / item_tokens;
  problem.heads = plan.heads;
  problem.rows_like = problem.columns_like = device.shape.view();
  problem.scale = scale_of(device.shape.head_dim);
  problem.passes = Passes::forward_backward;
  const Result<DenseAttention> dense = DenseAttention::prepare(problem);
  ASSERT_TRUE(dense) << dense.error().message;
  const DeviceMemory workspace(dense->workspace_bytes());
  const cuda::DenseMemory memory = {workspace.data(), nullptr};
  const Status forward = dense->forward({device.q.data(), device.k.data(), device.v.data(),
                                         device.o.data(), device.logarithms(), memory},
                                        nullptr);
  ASSERT_TRUE(forward) << forward.error().message;
  const Status backward =
      dense->backward({device.q.data(), device.k.data(), device.v.data(), device.grad_o.data(),
                       device.grad_q.data(), device.grad_k.data(), device.grad_v.data(), memory},
                      nullptr);
  ASSERT_TRUE(backward) << backward.error().message;
}

class CudaDense : public ::testing::TestWithParam<DType> {};

TEST_P(CudaDense, IsRightForwardAndBackwardInEveryMemoryOrder) {
  if (const auto reason = no_device()) GTEST_SKIP() << "not run: " << *reason;
  AttentionCase problem;
  problem.pattern = "full";
  problem.layout = layout_of({{.cls = 1, .query = 10, .documents = {item_tokens - 11}},
                              {.cls = 1, .query = 10, .documents = {item_tokens - 11}}});
  problem.dtype = GetParam();
  for (const Order order : {Order::token_major, Order::head_major, Order::head_major_items}) {
    problem.order = order;
    expect_right_on_device(problem, run_dense);
  }
}

TEST(CudaWithoutADevice, ALaunchAnswersWithTheCallThePlaceAndTheReason) {
  if (!no_device()) GTEST_SKIP() << "not run: there is a device";
  const Scores scores = {.items = 1, .heads = 1, .rows = 1, .columns = 8, .stride = 8};
  for (int repeat = 0; repeat < 2; ++repeat) {  // the process goes on
    const Status status = softmax_forward(scores, nullptr, nullptr, nullptr);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message,
                ::testing::ContainsRegex("CUDA: softmax_forward failed at .*launch.h:[0-9]+: "
                                         ".*[(]cudaError[A-Za-z]+[)]"));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, CudaDense,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

}  // namespace
}  // namespace attnscope::cuda
