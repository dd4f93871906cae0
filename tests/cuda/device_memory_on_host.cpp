// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/device_memory.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/emulator.h"

namespace attnscope::testing {

std::optional<std::string> no_device() {
  return std::nullopt;
}

void set_order(int seed) {
  on_host::set_seed(static_cast<std::uint64_t>(seed));
}

struct DeviceMemory::Memory {
  on_host::DeviceArray<std::byte> array;
};

DeviceMemory::DeviceMemory(const std::string& name, std::int64_t bytes)
    : name_(name), memory_(new Memory{on_host::DeviceArray<std::byte>(name, bytes)}) {}

DeviceMemory::DeviceMemory(const std::string& name, std::span<const std::byte> values)
    : name_(name), memory_(new Memory{on_host::DeviceArray<std::byte>(name, values)}) {}

std::byte* DeviceMemory::data() const {
  return memory_->array.data();
}
std::int64_t DeviceMemory::bytes() const {
  return memory_->array.size();
}
void DeviceMemory::set(std::span<const std::byte> values) {
  memory_->array.set(values);
}
void DeviceMemory::set(std::span<const std::byte> values, std::span<const ByteRange> written) {
  for (const ByteRange& range : written) {
    memory_->array.set(values.subspan(static_cast<std::size_t>(range.begin),
                                      static_cast<std::size_t>(range.end - range.begin)),
                       range.begin);
  }
}
void DeviceMemory::poison() {}  // new memory is poisoned
bool DeviceMemory::is_written(std::int64_t at, std::int64_t bytes) const {
  return on_host::is_written(data() + at, bytes);
}
std::vector<std::byte> DeviceMemory::read() const {
  return memory_->array.values();
}

}  // namespace attnscope::testing
