#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The device functions that kernels_bench needs in addition to memory: time between events,
// recorded graphs, flushes of the second-level cache, fast copies to the host. bench_device.cu
// implements them for a GPU, bench_device_on_host.cpp for the emulation, whose times are
// meaningless.
//
//   const BenchStream on;
//   float ms = on.time([&] { launch(..., on.stream()); });

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/cuda/devices.h"
#include "tests/cuda/device_memory.h"

namespace attnscope::testing {

/// A new stream; errors of the device are thrown.
class BenchStream {
 public:
  BenchStream();
  BenchStream(const BenchStream&) = delete;
  BenchStream& operator=(const BenchStream&) = delete;
  ~BenchStream();

  [[nodiscard]] cuda::Stream stream() const;
  /// Milliseconds in which the device executes the work that `queue` adds to this stream.
  [[nodiscard]] float time(const std::function<void()>& queue) const;
  /// Records the work that `queue` adds to this stream as a graph; calling the result queues the
  /// graph.
  [[nodiscard]] std::function<void()> recorded(const std::function<void()>& queue) const;
  /// Queues a read of twice the size of the second-level cache, after which nothing is written
  /// back.
  void flush_cache() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Fills the memory, whose size is a multiple of `bytes`, with copies of its first `bytes`.
void repeat_first(const DeviceMemory& memory, std::int64_t bytes);

/// Copies device memory to a page-locked buffer, which is kept for the next copy.
class ReadBuffer {
 public:
  ReadBuffer();
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;
  ~ReadBuffer();
  /// Waits for queued work. The result is valid until the next call.
  [[nodiscard]] std::span<const std::byte> read(const DeviceMemory& memory);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Queues a copy between two memories of the same size.
void copy(const DeviceMemory& from, const DeviceMemory& to, cuda::Stream stream);

}  // namespace attnscope::testing
