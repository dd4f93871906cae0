// SPDX-License-Identifier: Apache-2.0
//
// For builds without CUDA. Callers check cuda::usable() first, so that reaching this code is a
// programming error.
#include <stdexcept>

#include "engine/measure/ceilings.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/machine.h"

namespace attnscope::measure {

HeatDevice& cuda_heat_device() {
  throw std::logic_error("a CUDA device was requested in a build without CUDA");
}

Ceilings measure_cuda_ceilings() {
  throw std::logic_error("CUDA ceilings were requested in a build without CUDA");
}

nlohmann::json describe_cuda_device() {
  return nullptr;
}

}  // namespace attnscope::measure
