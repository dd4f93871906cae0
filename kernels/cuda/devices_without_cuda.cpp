// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/devices.h"

namespace attnscope {

CudaDevices cuda_devices() {
  return {.devices = {},
          .reason =
              "this build has no CUDA (it was made without nvcc or without a GPU; cmake "
              "--preset release -DATTNSCOPE_CUDA=ON takes it in)"};
}

}  // namespace attnscope
