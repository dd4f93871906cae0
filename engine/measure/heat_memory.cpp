// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_memory.h"

#include <fmt/format.h>

#include <utility>

#include "engine/measure/machine_memory.h"

namespace attnscope::measure {

OutOfMemory::OutOfMemory(std::int64_t requested, std::int64_t free)
    : requested_(requested),
      free_(free),
      what_(fmt::format("asked for {} when {} were free", bytes_in_words(requested),
                        bytes_in_words(free))) {}

Buffer::Buffer(HeatMemory& memory, std::int64_t bytes)
    : memory_(&memory),
      bytes_(static_cast<std::byte*>(memory.allocate(static_cast<std::size_t>(bytes))),
             static_cast<std::size_t>(bytes)) {}

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (memory_ != nullptr) memory_->release(bytes_.data());
}

}  // namespace attnscope::measure
