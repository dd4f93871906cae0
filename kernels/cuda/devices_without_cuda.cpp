// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/devices.h"

namespace attnscope {

CudaDevices cuda_devices() {
  return {.devices = {}, .reason = "this build has no CUDA (nvcc was not found when it was made)"};
}

}  // namespace attnscope
