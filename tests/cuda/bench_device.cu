// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/cuda/bench_device.h"

namespace attnscope::testing {
namespace {

void expect(cudaError_t error, const char* call) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  expect(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
  return value;
}

constexpr int read_threads = 256;

/// Reads `count` pieces of 16 bytes. Nothing is stored, which the compiler cannot prove.
__global__ void read_all(const uint4* from, std::int64_t count, unsigned* sink) {
  const std::int64_t stride = std::int64_t{gridDim.x} * read_threads;
  unsigned seen = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * read_threads + threadIdx.x; i < count;
       i += stride) {
    const uint4 value = __ldcg(from + i);
    seen |= value.x | value.y | value.z | value.w;
  }
  if (seen == 0x12345678u) *sink = seen;
}

}  // namespace

struct BenchStream::Impl {
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  std::int64_t flush_bytes = 2 * static_cast<std::int64_t>(attribute(cudaDevAttrL2CacheSize));
  std::unique_ptr<DeviceMemory> flushed_with{};

  Impl() {
    expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    expect(cudaEventCreate(&begin), "cudaEventCreate");
    expect(cudaEventCreate(&end), "cudaEventCreate");
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    cudaEventDestroy(end);
    cudaEventDestroy(begin);
    cudaStreamDestroy(stream);
  }
};

BenchStream::BenchStream() : impl_(std::make_unique<Impl>()) {}
BenchStream::~BenchStream() = default;

cuda::Stream BenchStream::stream() const {
  return impl_->stream;
}

float BenchStream::time(const std::function<void()>& queue) const {
  float ms = 0;
  expect(cudaEventRecord(impl_->begin, impl_->stream), "cudaEventRecord");
  queue();
  expect(cudaEventRecord(impl_->end, impl_->stream), "cudaEventRecord");
  expect(cudaEventSynchronize(impl_->end), "a kernel");
  expect(cudaEventElapsedTime(&ms, impl_->begin, impl_->end), "cudaEventElapsedTime");
  return ms;
}

std::function<void()> BenchStream::recorded(const std::function<void()>& queue) const {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  expect(cudaStreamBeginCapture(impl_->stream, cudaStreamCaptureModeThreadLocal),
         "cudaStreamBeginCapture");
  queue();
  expect(cudaStreamEndCapture(impl_->stream, &graph), "cudaStreamEndCapture");
  const cudaError_t error = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  expect(error, "cudaGraphInstantiate");
  const std::shared_ptr<CUgraphExec_st> kept(made, cudaGraphExecDestroy);
  return [kept, stream = impl_->stream] {
    expect(cudaGraphLaunch(kept.get(), stream), "cudaGraphLaunch");
  };
}

void BenchStream::flush_cache() const {
  if (!impl_->flushed_with) {
    impl_->flushed_with = std::make_unique<DeviceMemory>("flush", impl_->flush_bytes + 16);
    expect(cudaMemset(impl_->flushed_with->data(), 0,
                      static_cast<std::size_t>(impl_->flush_bytes + 16)),
           "cudaMemset");
    expect(cudaDeviceSynchronize(), "cudaMemset");
  }
  std::byte* const data = impl_->flushed_with->data();
  const int blocks = 8 * attribute(cudaDevAttrMultiProcessorCount);
  read_all<<<blocks, read_threads, 0, impl_->stream>>>(
      reinterpret_cast<const uint4*>(data), impl_->flush_bytes / 16,
      reinterpret_cast<unsigned*>(data + impl_->flush_bytes));
  expect(cudaGetLastError(), "read_all");
}

void repeat_first(const DeviceMemory& memory, std::int64_t bytes) {
  for (std::int64_t have = bytes; have < memory.bytes(); have *= 2) {
    expect(cudaMemcpy(memory.data() + have, memory.data(),
                      static_cast<std::size_t>(std::min(have, memory.bytes() - have)),
                      cudaMemcpyDeviceToDevice),
           "cudaMemcpy");
  }
  expect(cudaDeviceSynchronize(), "cudaMemcpy");
}

struct ReadBuffer::Impl {
  void* data = nullptr;
  std::size_t bytes = 0;

  ~Impl() { cudaFreeHost(data); }
};

ReadBuffer::ReadBuffer() : impl_(std::make_unique<Impl>()) {}
ReadBuffer::~ReadBuffer() = default;

std::span<const std::byte> ReadBuffer::read(const DeviceMemory& memory) {
  const auto bytes = static_cast<std::size_t>(memory.bytes());
  if (impl_->bytes < bytes) {
    impl_ = std::make_unique<Impl>();
    expect(cudaMallocHost(&impl_->data, bytes), "cudaMallocHost");
    impl_->bytes = bytes;
  }
  expect(cudaDeviceSynchronize(), "a kernel");
  expect(cudaMemcpy(impl_->data, memory.data(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return {static_cast<const std::byte*>(impl_->data), bytes};
}

void copy(const DeviceMemory& from, const DeviceMemory& to, cuda::Stream stream) {
  expect(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(to.bytes()),
                         cudaMemcpyDeviceToDevice, stream),
         "cudaMemcpyAsync");
}

}  // namespace attnscope::testing
