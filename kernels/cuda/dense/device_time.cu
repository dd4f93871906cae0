// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "kernels/cuda/dense/device_time.h"
#include "kernels/cuda/launch.h"

namespace attnscope::cuda {
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

Result<int> current_device() {
  int device = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  return device;
}

}  // namespace attnscope::cuda
