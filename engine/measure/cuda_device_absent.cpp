// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA. Callers ask cuda::usable() first, so that getting here is our
// own mistake.
#include <stdexcept>

#include "engine/measure/ceilings.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/machine.h"

namespace attnscope::measure {

HeatDevice& cuda_heat_device() {
  throw std::logic_error("a CUDA device was asked for in a build that cannot use it");
}

Ceilings measure_cuda_ceilings() {
  throw std::logic_error("CUDA ceilings were asked for in a build that cannot use it");
}

nlohmann::json describe_cuda_device() {
  return nullptr;
}

}  // namespace attnscope::measure
