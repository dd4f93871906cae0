// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/windowed_case.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

cuda::WindowedWork checked(Result<cuda::WindowedWork> work) {
  EXPECT_TRUE(work) << work.error().message;
  return *std::move(work);
}

void expect_done(const Status& status) {
  ASSERT_TRUE(status) << status.error().message;
}

}  // namespace

DeviceWork::DeviceWork(Result<cuda::WindowedWork> work)
    : work_(checked(std::move(work))),
      list_("list", work_.list()),
      workspace_("workspace", work_.workspace_bytes()) {}

Outputs run_cuda_windowed(const AttentionPlan& plan, const Inputs& inputs) {
  const Packed& shape = inputs.q;
  const DeviceWork work(cuda::windowed_work(plan, shape.head_dim, shape.dtype, Passes::forward));
  EXPECT_EQ(work.work().score_elements(), cuda::windowed_score_elements(plan));
  DeviceTensor q(inputs.q), k(inputs.k), v(inputs.v), o(like(shape, nan));
  const on_host::DeviceArray<float> lse("lse", shape.tokens * shape.heads);
  const on_host::DeviceArray<float> scores = work.scores();
  expect_done(cuda::windowed_forward(work.work(), work.memory(), q.view(), k.view(), v.view(),
                                     scale_of(shape.head_dim), o.tensor(), lse.data(),
                                     scores.data(), nullptr));
  EXPECT_TRUE(lse.written());
  EXPECT_TRUE(scores.written());
  EXPECT_TRUE(gaps_are_untouched(o.packed()));
  return {o.packed(), lse.values()};
}

Gradients run_cuda_windowed_backward(const AttentionPlan& plan, const Inputs& inputs,
                                     const Packed& grad_o) {
  const Packed& shape = inputs.q;
  const DeviceWork work(
      cuda::windowed_work(plan, shape.head_dim, shape.dtype, Passes::forward_backward));
  DeviceTensor q(inputs.q), k(inputs.k), v(inputs.v), d_o(grad_o), o(like(shape, nan));
  const on_host::DeviceArray<float> weights = work.scores(), gradients = work.scores();
  const float scale = scale_of(shape.head_dim);
  expect_done(cuda::windowed_forward(work.work(), work.memory(), q.view(), k.view(), v.view(),
                                     scale, o.tensor(), nullptr, weights.data(), nullptr));
  const std::vector<float> kept = weights.values();
  const Packed empty = like(shape, nan);
  DeviceTensor grad_q(empty), grad_k(empty), grad_v(empty);
  const GradientTensors tensors{.q = q.view(),
                                .k = k.view(),
                                .v = v.view(),
                                .o = {},
                                .lse = {},
                                .grad_o = d_o.view(),
                                .grad_q = grad_q.tensor(),
                                .grad_k = grad_k.tensor(),
                                .grad_v = grad_v.tensor()};
  expect_done(cuda::windowed_backward(work.work(), work.memory(), tensors, scale, weights.data(),
                                      gradients.data(), nullptr));
  EXPECT_EQ(0, std::memcmp(kept.data(), weights.data(), kept.size() * sizeof(float)));
  for (DeviceTensor* gradient : {&grad_q, &grad_k, &grad_v}) {
    EXPECT_TRUE(gaps_are_untouched(gradient->packed()));
  }
  return {grad_q.packed(), grad_k.packed(), grad_v.packed()};
}

void expect_cuda_windowed_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                                const std::string& what) {
  expect_near(run_cuda_windowed(plan, inputs), reference(keys, inputs), inputs.q.head_dim, what);
  const Packed grad_o = random_like(inputs.q, 7);
  ExactCase values{Values(inputs.q), Values(inputs.k), Values(inputs.v), Values(inputs.q),
                   Values(grad_o)};
  values.o = reference_output(keys, values);
  expect_near(run_cuda_windowed_backward(plan, inputs, grad_o), reference_gradients(keys, values),
              what);
}

void expect_cuda_windowed_right(const AttentionCase& problem) {
  expect_cuda_windowed_right(problem.plan(), random_inputs(problem), problem.keys(),
                             problem.text());
}

}  // namespace attnscope::testing
