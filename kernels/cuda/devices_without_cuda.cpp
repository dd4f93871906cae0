// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/devices.h"

namespace attnscope {

CudaDevices cuda_devices() {
  return {
      .devices = {},
      .reason =
          "this build has no CUDA (it was configured without nvcc or a GPU; cmake --preset release "
          "-DATTNSCOPE_CUDA=ON builds it with CUDA)"};
}

}  // namespace attnscope
