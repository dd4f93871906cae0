#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA functions that the engine needs in addition to its kernels: whether a device can be
// used, memory from LibTorch's caching allocator, copies, LibTorch's current stream. All of them
// use the current device and are queued on that stream. Builds without CUDA have these functions,
// too: usable() returns why they must not be called, and a call is a programming error that throws
// std::logic_error.
//
//   if (Status ok = cuda::usable(); !ok) return ok;
//   cuda::Block block(bytes);                         // of the device
//   cuda::copy_to_device(block.data(), values);
//   kernel(block.data(), cuda::current_stream());
//   cuda::copy_to_host(values, block.data());         // waits, and throws on an error

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "base/result.h"
#include "kernels/cuda/devices.h"

namespace attnscope::cuda {

/// LibTorch's CUDA support in this build.
struct LibTorchCuda {
  bool built = false;  // built with CUDA libraries
  int devices = 0;     // visible to LibTorch
};
[[nodiscard]] LibTorchCuda libtorch_cuda();

/// Ok, or the first reason why nothing can be computed on CUDA: no driver, no device, a device too
/// old for the kernels, a LibTorch for the CPU only.
[[nodiscard]] Status usable(const CudaDevices& found, const LibTorchCuda& libtorch);
/// The result for this process, determined once.
[[nodiscard]] const Status& usable();

/// The device can no longer be used by this process: a fault in a kernel persists until the process
/// ends.
class DeviceLost : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Waits for the device; returns the error that every further call would return, or nothing.
[[nodiscard]] std::optional<std::string> lost();

/// Device memory of LibTorch's caching allocator, aligned to 512 bytes, released in stream order.
/// Throws LibTorch's exception if it does not fit.
class Block {
 public:
  Block() = default;
  explicit Block(std::int64_t bytes);
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Never releases it: a captured graph has its address.
  void keep() { is_kept_ = true; }

 private:
  std::byte* data_ = nullptr;
  bool is_kept_ = false;
};

/// A copy of `values`. Throws std::invalid_argument, which names `what`, if the current stream is
/// being captured into a graph: the copy would run later, from memory that is freed before.
[[nodiscard]] Block copied_before_capture(std::span<const std::byte> values, const char* what);

/// A copy of a kernel's work list on the device, made on first use: preparing a problem allocates
/// no device memory. A list that a call reads while it is captured into a graph stays until the
/// process ends.
class ListOnDevice {
 public:
  /// `list` must outlive it.
  explicit ListOnDevice(std::span<const std::byte> list) : list_(list) {}
  /// For any number of host threads. Throws if the first use is captured.
  [[nodiscard]] const std::byte* data();
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(list_.size()); }

 private:
  std::span<const std::byte> list_;
  std::mutex filling_;
  Block block_;
};

[[nodiscard]] std::byte* allocate(std::int64_t bytes);
void release(std::byte* data) noexcept;

/// `from` may be changed or freed after the call returns.
void copy_to_device(std::byte* to, std::span<const std::byte> from);
/// Waits for all work queued before. Throws std::runtime_error with a message if it failed.
void copy_to_host(std::span<std::byte> to, const std::byte* from);
/// Sets every byte to `value`; 0xFF is NaN in all dtypes.
void fill(std::byte* to, std::int64_t bytes, std::byte value);
/// Waits for all queued work; throws like copy_to_host.
void wait();

[[nodiscard]] Stream current_stream();
/// Whether that stream is being captured into a graph.
[[nodiscard]] bool is_capturing();

}  // namespace attnscope::cuda
