// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "tests/cuda_on_host/device_arena.h"

namespace attnscope::on_host {

namespace {

constexpr std::size_t page_bytes = 1 << 16;
constexpr std::size_t red_zone_bytes = 4096;

[[nodiscard]] std::size_t pages_for(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes;
}

}  // namespace

DeviceArena& device_arena() {
  static DeviceArena the_only;
  return the_only;
}

DeviceArena::DeviceArena() : allocation_of_page_(arena_bytes / page_bytes) {
  void* memory = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(memory);
}

std::byte* DeviceArena::allocate(const std::string& name, std::size_t bytes) {
  // The allocation begins at an odd multiple of 256 bytes in its page.
  const std::size_t offset = red_zone_bytes + 256;
  const std::size_t pages = pages_for(offset + bytes + red_zone_bytes);
  if (live_ == 0) next_page_ = 0;
  if ((next_page_ + pages) * page_bytes > arena_bytes) throw std::bad_alloc();
  auto allocation = std::make_unique<Allocation>();
  allocation->name = name;
  allocation->begin = begin_ + next_page_ * page_bytes + offset;
  allocation->bytes = bytes;
  allocation->granules.resize((bytes + 1) / 2);
  std::memset(allocation->begin, poison, bytes);
  for (std::size_t page = 0; page < pages; ++page) {
    allocation_of_page_[next_page_ + page] = allocation.get();
  }
  next_page_ += pages;
  ++live_;
  std::byte* begin = allocation->begin;
  allocations_.emplace(begin, std::move(allocation));
  return begin;
}

void DeviceArena::release(std::byte* memory) {
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) throw std::logic_error("no device memory begins here");
  const std::size_t first = static_cast<std::size_t>(memory - begin_) / page_bytes;
  const std::size_t pages = pages_for(red_zone_bytes + 256 + found->second->bytes + red_zone_bytes);
  std::fill_n(allocation_of_page_.begin() + static_cast<std::ptrdiff_t>(first), pages, nullptr);
  madvise(begin_ + first * page_bytes, pages * page_bytes, MADV_DONTNEED);
  allocations_.erase(found);
  --live_;
}

Allocation* DeviceArena::find(const void* address) const {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_);
  return offset < arena_bytes ? allocation_of_page_[offset / page_bytes] : nullptr;
}

std::byte* allocate(const std::string& name, std::int64_t bytes) {
  return device_arena().allocate(name, static_cast<std::size_t>(bytes));
}

void release(std::byte* memory) {
  device_arena().release(memory);
}

namespace {

/// The granules of these bytes; throws unless all bytes are within one allocation.
[[nodiscard]] std::span<Granule> granules_of(const void* memory, std::int64_t bytes) {
  Allocation* allocation = device_arena().find(memory);
  const std::int64_t offset =
      allocation == nullptr ? -1 : static_cast<const std::byte*>(memory) - allocation->begin;
  if (offset < 0 || offset + bytes > static_cast<std::int64_t>(allocation->bytes)) {
    throw std::out_of_range("these bytes are not in one allocation of device memory");
  }
  const std::int64_t first = offset / 2, end = (offset + bytes + 1) / 2;
  return std::span(allocation->granules)
      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

}  // namespace

void set_by_host(const void* memory, std::int64_t bytes) {
  if (bytes == 0) return;
  for (Granule& granule : granules_of(memory, bytes)) {
    granule = Granule{};
    granule.written = true;
  }
}

bool is_written(const void* memory, std::int64_t bytes) {
  return bytes == 0 || std::ranges::all_of(granules_of(memory, bytes), &Granule::written);
}

}  // namespace attnscope::on_host
