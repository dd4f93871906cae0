#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What kernels_bench needs of a device apart from its memory: time between events, recorded graphs,
// a second-level cache that can be flushed, fast copies back. bench_device.cu has them on a GPU;
// bench_device_on_host.cpp stands in for it under the emulation, where times mean nothing.
//
//   const BenchStream on;
//   float ms = on.time([&] { launch(..., on.stream()); });

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/cuda/stream.h"
#include "tests/cuda/device_memory.h"

namespace attnscope::testing {

/// A stream of its own; errors of the device are thrown.
class BenchStream {
 public:
  BenchStream();
  BenchStream(const BenchStream&) = delete;
  BenchStream& operator=(const BenchStream&) = delete;
  ~BenchStream();

  [[nodiscard]] cuda::Stream stream() const;
  /// Milliseconds that the device takes for what `queue` puts on this stream.
  [[nodiscard]] float time(const std::function<void()>& queue) const;
  /// What `queue` puts on this stream, as a graph; calling the result queues the graph here.
  [[nodiscard]] std::function<void()> recorded(const std::function<void()>& queue) const;
  /// Queues a read of twice the second-level cache. Reading leaves nothing to be written back.
  void flush_cache() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Fills the memory with copies of its first `bytes`, of which its size is a multiple.
void repeat_first(const DeviceMemory& memory, std::int64_t bytes);

/// Copies device memory to a page-locked buffer, which is kept for the next copy.
class ReadBuffer {
 public:
  ReadBuffer();
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;
  ~ReadBuffer();
  /// Waits for what was queued. Valid until the next call.
  [[nodiscard]] std::span<const std::byte> read(const DeviceMemory& memory);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Queues a copy between two memories of the same size.
void copy(const DeviceMemory& from, const DeviceMemory& to, cuda::Stream stream);

}  // namespace attnscope::testing
