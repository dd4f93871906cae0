// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "kernels/cuda/calls.h"
#include "kernels/cuda/devices.h"

namespace attnscope {

static std::string uuid_of(const cudaDeviceProp& properties) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (const char byte : properties.uuid.bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

CudaDevices cuda_devices() {
  CudaDevices found;
  found.architectures = ATTNSCOPE_CUDA_ARCHITECTURES;
  const auto worked = [&found](cudaError_t error) {
    if (error == cudaSuccess) return true;
    cudaGetLastError();  // clears the error, which a later call must not see
    found.reason = std::string("CUDA cannot be used: ") + cudaGetErrorString(error);
    if (error == cudaErrorNoDevice) found.reason = "the NVIDIA driver sees no device";
    if (error == cudaErrorInsufficientDriver) {
      found.reason = "there is no NVIDIA driver for CUDA " + std::to_string(CUDART_VERSION / 1000) +
                     " on this machine";
    }
    return false;
  };
  int count = 0, driver = 0;
  cudaDriverGetVersion(&driver);
  if (!worked(cudaGetDeviceCount(&count))) return found;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties = {};
    if (!worked(cudaGetDeviceProperties(&properties, index))) continue;
    found.devices.push_back({properties.name, properties.major, properties.minor,
                             static_cast<std::int64_t>(properties.totalGlobalMem), driver,
                             uuid_of(properties)});
  }
  return found;
}

namespace cuda {

Result<double> device_time_ns(Stream stream, const std::function<Status()>& work) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  ATTNSCOPE_CUDA(cudaStreamIsCapturing(stream, &capture));
  if (capture != cudaStreamCaptureStatusNone) {
    return tl::unexpected(
        refused_capture("the first call of a shape, which times cuBLASLt's algorithms,").error());
  }
  using Event = std::unique_ptr<CUevent_st, decltype(&cudaEventDestroy)>;
  cudaEvent_t begin = nullptr, end = nullptr;
  ATTNSCOPE_CUDA(cudaEventCreate(&begin));
  const Event first(begin, cudaEventDestroy);
  ATTNSCOPE_CUDA(cudaEventCreate(&end));
  const Event second(end, cudaEventDestroy);
  float ms = 0.0F;
  ATTNSCOPE_CUDA(cudaEventRecord(begin, stream));
  if (Status done = work(); !done) return tl::unexpected(done.error());
  ATTNSCOPE_CUDA(cudaEventRecord(end, stream));
  ATTNSCOPE_CUDA(cudaEventSynchronize(end));
  ATTNSCOPE_CUDA(cudaEventElapsedTime(&ms, begin, end));
  return static_cast<double>(ms) * 1e6;
}

}  // namespace cuda
}  // namespace attnscope
