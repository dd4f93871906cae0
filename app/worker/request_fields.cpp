// SPDX-License-Identifier: Apache-2.0
#include "app/worker/request_fields.h"

#include <algorithm>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/conditions.h"

namespace attnscope::worker {

int threads_of(const JsonField& message) {
  constexpr int most = 4096;
  const auto field = message.member("threads");
  const int threads = field ? field->whole<int>(0, most) : 0;
  return threads > 0 ? threads : std::max(static_cast<int>(measure::allowed_cores().size()), 1);
}

DeviceKind device_of(const JsonField& message) {
  const auto field = message.member("device");
  if (!field) return DeviceKind::cpu;
  const DeviceKind device = field->take(parse_device(field->text()));
  if (device == DeviceKind::cuda && !cuda::usable())
    throw RequestError("CUDA is not available: " + cuda::usable().error().message);
  return device;
}

}  // namespace attnscope::worker
