// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/cuda_runtime.h"

#include <stdexcept>
#include <utility>

namespace attnscope::cuda {
namespace {

constexpr int oldest_compute_major = 8;  // cp.async and mma of bfloat16

}  // namespace

Status usable(const CudaDevices& found, const LibTorchCuda& libtorch) {
  if (found.devices.empty()) return fail("{}", found.reason);
  const CudaDevice& device = found.devices.front();
  if (device.compute_major < oldest_compute_major) {
    return fail("{} has compute capability {}.{}, and the kernels need {}.0 or newer", device.name,
                device.compute_major, device.compute_minor, oldest_compute_major);
  }
  if (!libtorch.built) {
    return fail(
        "this build's LibTorch is for the CPU only; configure it with -DATTNSCOPE_TORCH_DIR=DIR, "
        "the torch folder of a Python whose torch has CUDA");
  }
  if (libtorch.devices == 0) {
    return fail("LibTorch can use no CUDA device here, though the driver has {}", device.name);
  }
  return {};
}

const Status& usable() {
  static const Status status = usable(cuda_devices(), libtorch_cuda());
  return status;
}

Block::Block(std::int64_t bytes) : data_(allocate(bytes)) {}

Block::Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}

Block::~Block() {
  if (data_ != nullptr) release(data_);
}

const std::byte* DeviceList::data() {
  if (block_.data() == nullptr && !list_.empty()) {
    block_ = Block(size());
    copy_to_device(block_.data(), list_);
  }
  return block_.data();
}

#ifndef ATTNSCOPE_COMPUTES_ON_CUDA

namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("CUDA was requested in a build that cannot use it");
}

}  // namespace

LibTorchCuda libtorch_cuda() {
  return {};
}
std::optional<std::string> lost() {
  return std::nullopt;
}
std::byte* allocate(std::int64_t) {
  refuse();
}
void release(std::byte*) noexcept {}
void copy_to_device(std::byte*, std::span<const std::byte>) {
  refuse();
}
void copy_to_host(std::span<std::byte>, const std::byte*) {
  refuse();
}
void fill(std::byte*, std::int64_t, std::byte) {
  refuse();
}
void wait() {
  refuse();
}
Stream current_stream() {
  refuse();
}

#endif

}  // namespace attnscope::cuda
