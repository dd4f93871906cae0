// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/cuda_runtime.h"

#include <stdexcept>
#include <utility>

#include "kernels/cuda/operands.h"

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

Block::Block(Block&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), is_kept_(other.is_kept_) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(is_kept_, other.is_kept_);
  return *this;
}

Block::~Block() {
  if (data_ != nullptr && !is_kept_) release(data_);
}

Block copied_before_capture(std::span<const std::byte> values, const char* what) {
  if (is_capturing()) throw std::invalid_argument(refused_capture(what).error().message);
  Block block(static_cast<std::int64_t>(values.size()));
  copy_to_device(block.data(), values);
  return block;
}

const std::byte* ListOnDevice::data() {
  if (list_.empty()) return nullptr;
  const std::lock_guard lock(filling_);
  if (block_.data() == nullptr)
    block_ = copied_before_capture(list_, "the first call of a plan, which copies its work list,");
  if (is_capturing()) block_.keep();
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
bool is_capturing() {
  refuse();
}

#endif

}  // namespace attnscope::cuda
