// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "kernels/cuda/devices.h"

namespace attnscope {

namespace {

std::string reason_for(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver) {
    return "there is no NVIDIA driver for CUDA " + std::to_string(CUDART_VERSION / 1000) +
           " on this machine";
  }
  if (error == cudaErrorNoDevice) return "the NVIDIA driver sees no device";
  return std::string("CUDA cannot be used: ") + cudaGetErrorString(error);
}

}  // namespace

CudaDevices cuda_devices() {
  CudaDevices found;
  int count = 0;
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();  // the error is answered here; a later call must not see it
    found.reason = reason_for(error);
    return found;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties = {};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, index);
        error != cudaSuccess) {
      found.reason = reason_for(error);
      continue;
    }
    found.devices.push_back({properties.name, properties.major, properties.minor,
                             static_cast<std::int64_t>(properties.totalGlobalMem), driver});
  }
  return found;
}

}  // namespace attnscope
