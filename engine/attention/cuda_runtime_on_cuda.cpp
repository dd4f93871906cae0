// SPDX-License-Identifier: Apache-2.0
//
// CUDA through LibTorch's allocator and streams, with the runtime's own calls for copies. Uses only
// API common to LibTorch 2.11 and 2.15.
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "engine/attention/cuda_call.h"
#include "engine/attention/cuda_runtime.h"

namespace attnscope::cuda {
namespace {

/// The allocator and its streams exist only after LibTorch's own initialisation.
void initialise() {
  static const bool done = [] {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

LibTorchCuda libtorch_cuda() {
  return {.built = true, .devices = c10::cuda::device_count()};
}

std::optional<std::string> lost() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return std::nullopt;
  const char* name = cudaGetErrorName(error);
  return std::string(cudaGetErrorString(error)) + " (" + name + ")" +
         std::string(how_to_find_the_launch(name));
}

std::byte* allocate(std::int64_t bytes) {
  initialise();
  return static_cast<std::byte*>(
      c10::cuda::CUDACachingAllocator::raw_alloc(static_cast<std::size_t>(bytes)));
}

void release(std::byte* data) noexcept {
  // Fails only when the device is lost, and with it the memory.
  try {
    c10::cuda::CUDACachingAllocator::raw_delete(data);
  } catch (const std::exception&) {
    static_cast<void>(data);
  }
}

void copy_to_device(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  const Stream stream = current_stream();
  ATTNSCOPE_CUDA_OR_THROW(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream));
  // Pageable memory is staged, but its last part may not have been copied when the call returns.
  ATTNSCOPE_CUDA_OR_THROW(cudaStreamSynchronize(stream));
}

void copy_to_host(std::span<std::byte> to, const std::byte* from) {
  const Stream stream = current_stream();
  if (!to.empty()) {
    ATTNSCOPE_CUDA_OR_THROW(
        cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream));
  }
  ATTNSCOPE_CUDA_OR_THROW(cudaStreamSynchronize(stream));
}

void fill(std::byte* to, std::int64_t bytes, std::byte value) {
  if (bytes == 0) return;
  ATTNSCOPE_CUDA_OR_THROW(cudaMemsetAsync(to, std::to_integer<int>(value),
                                          static_cast<std::size_t>(bytes), current_stream()));
}

void wait() {
  ATTNSCOPE_CUDA_OR_THROW(cudaStreamSynchronize(current_stream()));
}

Stream current_stream() {
  initialise();
  return c10::cuda::getCurrentCUDAStream().stream();
}

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ATTNSCOPE_CUDA_OR_THROW(cudaStreamIsCapturing(current_stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace attnscope::cuda
