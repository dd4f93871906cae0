// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/cuda/bench_device.h"
#include "tests/cuda_on_host/device_memory.h"

namespace attnscope::testing {

struct BenchStream::Impl {};

BenchStream::BenchStream() = default;
BenchStream::~BenchStream() = default;

cuda::Stream BenchStream::stream() const {
  return nullptr;
}

float BenchStream::time(const std::function<void()>& queue) const {
  const auto begin = std::chrono::steady_clock::now();
  queue();
  return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// The emulation has no graphs: the calls are repeated.
std::function<void()> BenchStream::recorded(const std::function<void()>& queue) const {
  return queue;
}

void BenchStream::flush_cache() const {}

void repeat_first(const DeviceMemory& memory, std::int64_t bytes) {
  for (std::int64_t have = bytes; have < memory.bytes(); have += bytes) {
    std::memcpy(memory.data() + have, memory.data(), static_cast<std::size_t>(bytes));
    on_host::set_by_host(memory.data() + have, bytes);
  }
}

struct ReadBuffer::Impl {
  std::vector<std::byte> bytes;
};

ReadBuffer::ReadBuffer() : impl_(std::make_unique<Impl>()) {}
ReadBuffer::~ReadBuffer() = default;

std::span<const std::byte> ReadBuffer::read(const DeviceMemory& memory) {
  impl_->bytes = memory.read();
  return impl_->bytes;
}

void copy(const DeviceMemory& from, const DeviceMemory& to, cuda::Stream) {
  std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
  on_host::set_by_host(to.data(), to.bytes());
}

}  // namespace attnscope::testing
