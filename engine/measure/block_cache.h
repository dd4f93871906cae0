#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Counted and cached memory for everything a measured call touches: inputs, outputs, workspaces and
// LibTorch's own tensors (counting_allocator.h). Freed blocks are kept and handed out again, as the
// CUDA caching allocator does; without that a timing measures page faults.
//
//   BlockCache memory;
//   memory.reset_peaks();
//   { Buffer workspace(memory, bytes);  run(workspace.bytes()); }
//   memory.counters().requested_peak;   // bytes asked for at the worst moment

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace attnscope::measure {

/// A request that does not fit, thrown before the machine swaps.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(std::int64_t asked, std::int64_t free);
  [[nodiscard]] std::int64_t asked_bytes() const { return asked_; }
  [[nodiscard]] std::int64_t free_bytes() const { return free_; }
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::int64_t asked_, free_;
  std::string what_;
};

/// Thread-safe. Blocks are aligned to 64 bytes; from 2 MiB on to 2 MiB, with huge pages advised.
class BlockCache {
 public:
  struct Counters {
    std::int64_t requested = 0;       // live, as asked for
    std::int64_t requested_peak = 0;  // since reset_peaks()
    std::int64_t reserved = 0;        // taken from the system: live and cached, after rounding
    std::int64_t reserved_peak = 0;
    std::int64_t cached = 0;  // the part of `reserved` that waits for reuse
    std::int64_t fresh = 0;   // ever taken from the system; grows when the cache could not serve
  };

  BlockCache() = default;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache();

  /// Throws OutOfMemory. 0 bytes give nullptr.
  [[nodiscard]] void* allocate(std::size_t bytes);
  void release(void* data) noexcept;
  /// Gives cached blocks back to the system.
  void empty_cache() noexcept;
  /// Puts all blocks, live and cached, out of the processor's caches.
  void flush_from_caches() const;
  void reset_peaks();
  [[nodiscard]] Counters counters() const;

  /// All blocks together stay within `bytes`; absent: only the machine's memory limits them.
  void set_limit(std::optional<std::int64_t> bytes);
  /// The largest request that could be served now, cached blocks given back.
  [[nodiscard]] std::int64_t free_bytes() const;

 private:
  struct Block {
    std::int64_t requested = 0;
    std::int64_t size = 0;
  };
  [[nodiscard]] std::int64_t free_bytes_locked() const;
  [[nodiscard]] void* take_from_system(std::int64_t requested, std::int64_t size);
  void empty_cache_locked() noexcept;

  mutable std::mutex mutex_;
  std::unordered_map<void*, Block> live_;
  std::multimap<std::int64_t, void*> cached_;
  std::optional<std::int64_t> limit_;
  std::int64_t unchecked_small_ = 0;
  Counters counters_;
};

/// A block that is released with its scope.
class Buffer {
 public:
  Buffer() = default;
  Buffer(BlockCache& memory, std::int64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  BlockCache* memory_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace attnscope::measure
