// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/counting_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace attnscope::measure {
namespace {

// LibTorch's deleters are plain functions without an object, hence the one cache of the process.
BlockCache& cache() {
  static auto* const memory = new BlockCache;
  return *memory;
}

void release_block(void* data) {
  cache().release(data);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = cache().allocate(bytes);
    return {data, data, &release_block, c10::Device(c10::DeviceType::CPU)};
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &release_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

// Above the priority of every allocator that LibTorch registers for itself.
constexpr std::uint8_t priority = 127;

}  // namespace

BlockCache& process_memory() {
  static const bool installed = [] {
    c10::SetCPUAllocator(new CountingAllocator, priority);
    return true;
  }();
  static_cast<void>(installed);
  return cache();
}

}  // namespace attnscope::measure
