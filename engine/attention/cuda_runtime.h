#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The little of CUDA that the engine asks for beside its kernels: whether a device can be used,
// memory from LibTorch's caching allocator, copies, LibTorch's current stream. Everything is for
// the current device and queued on that stream. Builds without it have these functions, too, and
// usable() says why none of them may be called; getting there is our own mistake, and throws
// std::logic_error.
//
//   if (Status ok = cuda::usable(); !ok) return ok;
//   cuda::Block block(bytes);                         // of the device
//   cuda::copy_to_device(block.data(), values);
//   kernel(block.data(), cuda::current_stream());
//   cuda::copy_to_host(values, block.data());         // waits, and throws what went wrong

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda/stream.h"

namespace attnscope::cuda {

/// LibTorch as this build has it.
struct LibTorchCuda {
  bool built = false;  // with its CUDA libraries
  int devices = 0;     // that it sees
};
[[nodiscard]] LibTorchCuda libtorch_cuda();

/// Ok, or the first reason why nothing can be computed on CUDA: no driver, no device, one too old
/// for the kernels, LibTorch for the CPU only.
[[nodiscard]] Status usable(const CudaDevices& found, const LibTorchCuda& libtorch);
/// The same of this process, looked up once.
[[nodiscard]] const Status& usable();

/// The device can no longer be used by this process: a fault in a kernel stays with it until it
/// ends.
class DeviceLost : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Waits for the device; the error that every further call would meet, or nothing.
[[nodiscard]] std::optional<std::string> lost();

/// Device memory of LibTorch's caching allocator, aligned to 512 bytes, released in the order of
/// the stream. Throws what LibTorch throws when it does not fit.
class Block {
 public:
  Block() = default;
  explicit Block(std::int64_t bytes);
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// A copy of a kernel's work list on the device, made when it is first asked for: preparing a
/// problem takes no device memory yet.
class DeviceList {
 public:
  /// `list` must outlive it.
  explicit DeviceList(std::span<const std::byte> list) : list_(list) {}
  [[nodiscard]] const std::byte* data();
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(list_.size()); }

 private:
  std::span<const std::byte> list_;
  Block block_;
};

[[nodiscard]] std::byte* allocate(std::int64_t bytes);
void release(std::byte* data) noexcept;

/// `from` may be changed or freed when it returns.
void copy_to_device(std::byte* to, std::span<const std::byte> from);
/// Waits for all that was queued before. Throws std::runtime_error in words when it failed.
void copy_to_host(std::span<std::byte> to, const std::byte* from);
/// Every byte becomes `value`; 0xFF is NaN in all dtypes.
void fill(std::byte* to, std::int64_t bytes, std::byte value);
/// Waits for all that was queued; throws as copy_to_host.
void wait();

[[nodiscard]] Stream current_stream();

}  // namespace attnscope::cuda
