// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/cuda_runtime.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "kernels/cuda/operands.h"

namespace attnscope::cuda {
namespace {

constexpr int oldest_compute_major = 8;  // cp.async and mma of bfloat16

/// Whether code for one architecture of CMake's list runs on a device: machine code on its own and
/// later devices of the same major number, PTX on all later ones, "90a" only on its own.
bool runs_on(std::string_view architecture, int capability) {
  const std::string digits(architecture.substr(0, architecture.find_first_not_of("0123456789")));
  if (digits.empty()) return true;  // "native", "all"
  const int compiled = std::stoi(digits);
  const std::string_view kind = architecture.substr(digits.size());
  if (kind.starts_with("a") || capability < compiled) return capability == compiled;
  return kind == "-real" ? capability / 10 == compiled / 10 : true;
}

bool run_on(std::string_view architectures, int capability) {
  for (std::size_t begin = 0; begin < architectures.size();) {
    const std::size_t end = std::min(architectures.find(',', begin), architectures.size());
    if (runs_on(architectures.substr(begin, end - begin), capability)) return true;
    begin = end + 1;
  }
  return architectures.empty();
}

}  // namespace

Status usable(const CudaDevices& found, const LibTorchCuda& libtorch) {
  if (found.devices.empty()) return fail("{}", found.reason);
  const CudaDevice& device = found.devices.front();
  if (device.compute_major < oldest_compute_major) {
    return fail("{} has compute capability {}.{}, and the kernels need {}.0 or newer", device.name,
                device.compute_major, device.compute_minor, oldest_compute_major);
  }
  const int capability = 10 * device.compute_major + device.compute_minor;
  if (!run_on(found.architectures, capability)) {
    return fail(
        "{} has compute capability {}.{}, and this build's kernels are compiled for {}; configure "
        "it with -DCMAKE_CUDA_ARCHITECTURES={}",
        device.name, device.compute_major, device.compute_minor, found.architectures, capability);
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
