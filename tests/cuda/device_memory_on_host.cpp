// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/device_memory.h"
#include "tests/cuda_on_host/device_memory.h"

namespace attnscope::testing {

std::optional<std::string> no_device() {
  return std::nullopt;
}

struct DeviceMemory::Memory {
  on_host::DeviceArray<std::byte> array;
};

DeviceMemory::DeviceMemory(std::int64_t bytes)
    : memory_(new Memory{on_host::DeviceArray<std::byte>("memory", bytes)}) {}

DeviceMemory::DeviceMemory(std::span<const std::byte> values)
    : memory_(new Memory{on_host::DeviceArray<std::byte>("memory", values)}) {}

std::byte* DeviceMemory::data() const {
  return memory_->array.data();
}
void DeviceMemory::clear(std::int64_t bytes) {
  memory_->array.fill_with_zeros(bytes);
}
std::vector<std::byte> DeviceMemory::read() const {
  return memory_->array.values();
}

}  // namespace attnscope::testing
