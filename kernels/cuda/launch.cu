// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"

namespace attnscope::cuda {
namespace {

/// The limits of a device, which never change, and its number.
struct Limits {
  int device = -1;
  int blocks = 0, threads = 0, shared_bytes = 0;
};

}  // namespace

Result<int> current_device() {
  int device = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  return device;
}

Status fits_device(const char* name, const LaunchShape& shape) {
  static thread_local Limits known;
  Limits now;
  ATTNSCOPE_CUDA(cudaGetDevice(&now.device));
  if (now.device != known.device) {
    const int device = now.device;
    ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&now.blocks, cudaDevAttrMaxGridDimX, device));
    ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&now.threads, cudaDevAttrMaxThreadsPerBlock, device));
    ATTNSCOPE_CUDA(
        cudaDeviceGetAttribute(&now.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlock, device));
    known = now;
  }
  const bool fits = shape.blocks <= known.blocks && shape.threads <= known.threads &&
                    shape.shared_bytes <= known.shared_bytes;
  if (fits) return {};
  cudaDeviceProp properties = {};
  ATTNSCOPE_CUDA(cudaGetDeviceProperties(&properties, known.device));
  if (shape.threads > known.threads) {
    return too_large_launch(name, shape.threads, "threads per block", properties.name,
                            known.threads);
  }
  if (shape.shared_bytes > known.shared_bytes) {
    return too_large_launch(name, shape.shared_bytes, "bytes of shared memory per block",
                            properties.name, known.shared_bytes);
  }
  return too_large_launch(name, shape.blocks, "thread blocks", properties.name, known.blocks);
}

Status finish_launch(const char* name, Stream stream) {
  if (!synchronises_launches()) return {};
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  ATTNSCOPE_CUDA(cudaStreamIsCapturing(stream, &capture));
  if (capture != cudaStreamCaptureStatusNone) return {};
  return checked(cudaStreamSynchronize(stream), name, __FILE__, __LINE__);
}

}  // namespace attnscope::cuda
