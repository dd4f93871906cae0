// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/limits.h"

#include "engine/attention/cuda_runtime.h"

namespace attnscope {

Status within_build_limits(const Problem& problem, std::string_view id) {
  if (problem.device == DeviceKind::cuda && !cuda::usable()) return cuda::usable();
  if (problem.operation == Operation::model) {
    return fail("{} is one attention, not a model: operation model has no implementation yet", id);
  }
  return {};
}

}  // namespace attnscope
