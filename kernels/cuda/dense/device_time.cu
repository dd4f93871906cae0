// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/device_time.h"
#include "kernels/cuda/launch.h"

namespace attnscope::cuda {
namespace {

/// Two events, destroyed with it.
class EventPair {
 public:
  EventPair() = default;
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;
  ~EventPair() {
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (end_ != nullptr) cudaEventDestroy(end_);
  }

  [[nodiscard]] Status time(Stream stream, const std::function<Status()>& work, float& ms) {
    ATTNSCOPE_CUDA(cudaEventCreate(&begin_));
    ATTNSCOPE_CUDA(cudaEventCreate(&end_));
    ATTNSCOPE_CUDA(cudaEventRecord(begin_, stream));
    if (Status done = work(); !done) return done;
    ATTNSCOPE_CUDA(cudaEventRecord(end_, stream));
    ATTNSCOPE_CUDA(cudaEventSynchronize(end_));
    ATTNSCOPE_CUDA(cudaEventElapsedTime(&ms, begin_, end_));
    return {};
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

Status refuse_capture(Stream stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  ATTNSCOPE_CUDA(cudaStreamIsCapturing(stream, &capture));
  if (capture == cudaStreamCaptureStatusNone) return {};
  return refused_capture("the first call of a shape, which times cuBLASLt's algorithms,");
}

Status read_device(int& device) {
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  return {};
}

}  // namespace

Result<double> device_time_ns(Stream stream, const std::function<Status()>& work) {
  if (Status free = refuse_capture(stream); !free) return tl::unexpected(free.error());
  EventPair events;
  float ms = 0.0F;
  if (Status done = events.time(stream, work, ms); !done) return tl::unexpected(done.error());
  return static_cast<double>(ms) * 1e6;
}

Result<int> current_device() {
  int device = 0;
  if (Status done = read_device(device); !done) return tl::unexpected(done.error());
  return device;
}

}  // namespace attnscope::cuda
