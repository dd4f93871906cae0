// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/limits.h"

namespace attnscope {

Status within_build_limits(const Problem& problem, std::string_view id) {
  if (problem.device == DeviceKind::cuda) return fail("this build has no CUDA implementations yet");
  if (problem.operation == Operation::model) {
    return fail("{} is one attention, not a model: operation model has no implementation yet", id);
  }
  return {};
}

}  // namespace attnscope
