// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>

#include "engine/attention/plan_kernels.h"
#include "engine/attention/torch_tensors.h"
#include "kernels/cuda/segment.h"
#include "kernels/cuda/windowed.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope {
namespace {

at::Tensor floats(std::int64_t count) {
  return at::empty({count},
                   at::TensorOptions().dtype(at::kFloat).device(torch_device(DeviceKind::cuda)));
}

at::Tensor segment_forward(const SharedPlan& plan, const PlanOperands& operands, float scale) {
  at::Tensor lse = floats(plan->tokens * plan->heads);
  cuda::segment_forward(plan, operands, scale, lse.data_ptr<float>());
  return lse;
}

void segment_backward(const SharedPlan& plan, GradientTensors tensors, float scale,
                      const at::Tensor& lse) {
  tensors.lse = {lse.data_ptr<float>(), static_cast<std::size_t>(lse.numel())};
  cuda::segment_backward(plan, tensors, scale);
}

at::Tensor windowed_forward(const SharedPlan& plan, const PlanOperands& operands, float scale) {
  at::Tensor weights = floats(windowed_score_elements(*plan));
  cuda::windowed_forward(plan, operands, scale, weights.data_ptr<float>());
  return weights;
}

void windowed_backward(const SharedPlan& plan, GradientTensors tensors, float scale,
                       const at::Tensor& weights) {
  cuda::windowed_backward(plan, tensors, scale, weights.data_ptr<float>());
}

}  // namespace

PlanKernels segment_kernels_on_cuda() {
  return {cuda::segment_supports, segment_forward, segment_backward};
}

PlanKernels windowed_kernels_on_cuda() {
  return {cuda::windowed_supports, windowed_forward, windowed_backward};
}

}  // namespace attnscope
