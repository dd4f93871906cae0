// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <iterator>

#include "kernels/cuda/launch.h"

namespace attnscope::cuda {

Result<int> current_device() {
  int device = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  return device;
}

std::int32_t multiprocessors() {
  int device = 0;
  int count = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess)
    return count;
  cudaGetLastError();  // clears the error, which a later call must not see
  return 132;
}

Status fits_device(const char* name, const LaunchShape& shape) {
  struct Limit {
    cudaDeviceAttr attribute;
    std::int64_t needed;
    const char* what;
  };
  const Limit limits[] = {
      {cudaDevAttrMaxThreadsPerBlock, shape.threads, "threads per block"},
      {cudaDevAttrMaxSharedMemoryPerBlock, shape.shared_bytes, "bytes of shared memory per block"},
      {cudaDevAttrMaxGridDimX, shape.blocks, "thread blocks"}};
  static thread_local int known_device = -1;
  static thread_local int most[std::size(limits)];  // of that device, which never change
  int device = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  for (std::size_t i = 0; i < std::size(limits) && device != known_device; ++i)
    ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&most[i], limits[i].attribute, device));
  known_device = device;
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    if (limits[i].needed <= most[i]) continue;
    cudaDeviceProp properties = {};
    ATTNSCOPE_CUDA(cudaGetDeviceProperties(&properties, device));
    return too_large_launch(name, limits[i].needed, limits[i].what, properties.name, most[i]);
  }
  return {};
}

Status finish_launch(const char* name, Stream stream) {
  if (!synchronises_launches()) return {};
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  ATTNSCOPE_CUDA(cudaStreamIsCapturing(stream, &capture));
  if (capture != cudaStreamCaptureStatusNone) return {};
  return checked(cudaStreamSynchronize(stream), name, __FILE__, __LINE__);
}

}  // namespace attnscope::cuda
