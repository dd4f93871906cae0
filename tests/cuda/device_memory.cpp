// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/device_memory.h"

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kernels/cuda/devices.h"

namespace attnscope::testing {
namespace {

void expect(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
  }
}

}  // namespace

std::optional<std::string> no_device() {
  const CudaDevices found = cuda_devices();
  if (found.devices.empty()) return found.reason;
  return std::nullopt;
}

void set_order(int) {}

struct DeviceMemory::Memory {
  void* data = nullptr;
  std::size_t bytes;

  explicit Memory(std::size_t size) : bytes(size) {
    if (bytes > 0) expect(cudaMalloc(&data, bytes), "cudaMalloc");
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data); }
};

DeviceMemory::DeviceMemory(const std::string& name, std::int64_t bytes)
    : name_(name), memory_(std::make_shared<Memory>(static_cast<std::size_t>(bytes))) {}

DeviceMemory::DeviceMemory(const std::string& name, std::span<const std::byte> values)
    : DeviceMemory(name, static_cast<std::int64_t>(values.size())) {
  set(values);
}

std::byte* DeviceMemory::data() const {
  return static_cast<std::byte*>(memory_->data);
}

std::int64_t DeviceMemory::bytes() const {
  return static_cast<std::int64_t>(memory_->bytes);
}

void DeviceMemory::set(std::span<const std::byte> values) {
  if (values.empty()) return;
  expect(cudaMemcpy(data(), values.data(), values.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}
void DeviceMemory::set(std::span<const std::byte> values, std::span<const ByteRange>) {
  set(values);
}

void DeviceMemory::poison() {
  expect(cudaMemset(memory_->data, 0xff, memory_->bytes), "cudaMemset");
}

bool DeviceMemory::is_written(std::int64_t, std::int64_t) const {
  return true;
}

std::vector<std::byte> DeviceMemory::read() const {
  std::vector<std::byte> values(memory_->bytes);
  expect(cudaDeviceSynchronize(), "a kernel");
  expect(cudaMemcpy(values.data(), memory_->data, values.size(), cudaMemcpyDeviceToHost),
         "cudaMemcpy");
  return values;
}

}  // namespace attnscope::testing
