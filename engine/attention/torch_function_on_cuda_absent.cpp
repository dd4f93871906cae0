// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA have no CUDA tensors either: segment_supports and
// windowed_supports decline before anything else is called.
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/torch_function_on_cuda.h"

namespace attnscope::on_cuda {
namespace {

[[noreturn]] void refuse() {
  throw std::invalid_argument(cuda::usable().error().message);
}

}  // namespace

Status segment_supports(const AttentionPlan&, std::int64_t) {
  return cuda::usable();
}

at::Tensor segment_forward(const std::shared_ptr<const AttentionPlan>&, const Operands&, float) {
  refuse();
}

void segment_backward(const std::shared_ptr<const AttentionPlan>&, const GradientTensors&, float) {
  refuse();
}

Status windowed_supports(const AttentionPlan&, std::int64_t) {
  return cuda::usable();
}

at::Tensor windowed_forward(const std::shared_ptr<const AttentionPlan>&, const Operands&, float) {
  refuse();
}

void windowed_backward(const std::shared_ptr<const AttentionPlan>&, const GradientTensors&, float,
                       const at::Tensor&) {
  refuse();
}

}  // namespace attnscope::on_cuda
