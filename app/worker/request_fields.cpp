// SPDX-License-Identifier: Apache-2.0
#include "app/worker/request_fields.h"

#include <algorithm>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/conditions.h"

namespace attnscope::worker {

int threads_or_all(int threads) {
  return threads > 0 ? threads : std::max(static_cast<int>(measure::allowed_cores().size()), 1);
}

DeviceKind usable(DeviceKind device) {
  if (device == DeviceKind::cuda && !cuda::usable())
    throw RequestError("CUDA is not available: " + cuda::usable().error().message);
  return device;
}

}  // namespace attnscope::worker
