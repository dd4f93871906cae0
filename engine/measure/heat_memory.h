#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a heat's tensors and workspaces come from: the machine's memory (block_cache.h) or a
// device's (heat_device.h). Everything that is measured of memory is counted there.
//
//   HeatMemory& memory = device.memory();
//   memory.reset_peaks();
//   { Buffer workspace(memory, bytes);  run(workspace.bytes()); }
//   memory.counters().requested_peak;   // bytes asked for at the worst moment

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

class HeatMemory {
 public:
  struct Counters {
    std::int64_t requested = 0;       // live, as asked for
    std::int64_t requested_peak = 0;  // since reset_peaks()
    std::int64_t reserved = 0;        // taken from the system: live and cached, after rounding
    std::int64_t reserved_peak = 0;
    std::int64_t cached = 0;  // the part of `reserved` that waits for reuse
    std::int64_t fresh = 0;   // ever taken from the system; grows when the cache could not serve
  };

  HeatMemory() = default;
  HeatMemory(const HeatMemory&) = delete;
  HeatMemory& operator=(const HeatMemory&) = delete;
  virtual ~HeatMemory() = default;

  /// Throws OutOfMemory. 0 bytes give nullptr.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;
  /// Gives cached blocks back to the system.
  virtual void empty_cache() noexcept = 0;
  /// The same, but may keep blocks so large that where they lie moves no time: to clear their pages
  /// anew would take longer than most calls.
  virtual void empty_cache_of_movable() noexcept { empty_cache(); }
  /// The cache is empty until take_cache_back(); what was in it may be kept for that moment.
  virtual void set_cache_aside() noexcept { empty_cache(); }
  virtual void take_cache_back() noexcept {}
  /// Puts everything that a call may touch out of the processor's caches.
  virtual void flush_from_caches() = 0;
  virtual void reset_peaks() = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  /// Sizes in bytes of the blocks that wait for reuse: after a call that began with an empty cache,
  /// what its like will need. Empty where they are not known.
  [[nodiscard]] virtual std::vector<std::int64_t> cached_blocks() const { return {}; }
  /// Puts such blocks into the cache where it lacks them, every page touched, so that the next call
  /// meets no page faults. Does nothing where they do not all fit.
  virtual void provide(std::span<const std::int64_t> /*blocks*/) {}

  /// While it is set, blocks are taken that another process can map as well
  /// (engine/attention/served/shared_memory.h), and go back to the system when they are released.
  virtual void set_shared(bool /*shares*/) {}

  /// All blocks together stay within `bytes`; absent: only the memory itself limits them.
  virtual void set_limit(std::optional<std::int64_t> bytes) = 0;
  /// The largest request that could be served now, cached blocks given back.
  [[nodiscard]] virtual std::int64_t free_bytes() const = 0;

  /// After a failure: the error that every further use would meet; nothing where all is well.
  [[nodiscard]] virtual std::optional<std::string> lost() { return std::nullopt; }
};

/// An empty cache for a scope.
class EmptyCache {
 public:
  explicit EmptyCache(HeatMemory& memory) : memory_(memory) { memory.set_cache_aside(); }
  EmptyCache(const EmptyCache&) = delete;
  EmptyCache& operator=(const EmptyCache&) = delete;
  ~EmptyCache() { memory_.take_cache_back(); }

 private:
  HeatMemory& memory_;
};

/// A block that is released with its scope.
class Buffer {
 public:
  Buffer() = default;
  Buffer(HeatMemory& memory, std::int64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  HeatMemory* memory_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace attnscope::measure
