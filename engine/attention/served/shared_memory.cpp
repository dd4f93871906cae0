// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/served/shared_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

namespace attnscope {
namespace {

struct SharedBlock {
  std::int64_t number = 0;
  std::size_t bytes = 0;
  int file = -1;
};

/// Blocks by the address of their first byte.
struct SharedBlocks {
  std::mutex mutex;
  std::map<const std::byte*, SharedBlock> by_begin;
  std::int64_t ever = 0;
};

SharedBlocks& shared_blocks() {
  static auto* const blocks = new SharedBlocks;  // outlives all users that return blocks at exit
  return *blocks;
}

}  // namespace

void* map_shared(std::size_t bytes) {
  const int file = memfd_create("attnscope", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* data = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0)
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) {
    ::close(file);
    return nullptr;
  }
  madvise(data, bytes, MADV_HUGEPAGE);
  SharedBlocks& blocks = shared_blocks();
  const std::lock_guard lock(blocks.mutex);
  blocks.by_begin.emplace(static_cast<const std::byte*>(data),
                          SharedBlock{++blocks.ever, bytes, file});
  return data;
}

bool unmap_shared(void* data) noexcept {
  SharedBlocks& blocks = shared_blocks();
  const std::lock_guard lock(blocks.mutex);
  const auto found = blocks.by_begin.find(static_cast<const std::byte*>(data));
  if (found == blocks.by_begin.end()) return false;
  madvise(data, found->second.bytes, MADV_REMOVE);
  munmap(data, found->second.bytes);
  ::close(found->second.file);
  blocks.by_begin.erase(found);
  return true;
}

std::string SharedPlace::file() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor);
}

std::optional<SharedPlace> shared_place(const void* data, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(data);
  SharedBlocks& blocks = shared_blocks();
  const std::lock_guard lock(blocks.mutex);
  auto block = blocks.by_begin.upper_bound(first);
  if (block == blocks.by_begin.begin()) return std::nullopt;
  --block;
  const auto offset = static_cast<std::size_t>(first - block->first);
  if (offset > block->second.bytes || bytes > block->second.bytes - offset) return std::nullopt;
  return SharedPlace{.block = block->second.number,
                     .descriptor = block->second.file,
                     .offset = static_cast<std::int64_t>(offset)};
}

}  // namespace attnscope
