#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory of a heat's tensors and workspaces, on the processor or on a device (heat_device.h): its
// interface, its statistics, and what happens to a contender when it does not suffice.
//
//   HeatMemory& memory = device.memory();
//   memory.reset_peaks();
//   { Buffer workspace(memory, bytes);  run(workspace.bytes()); }
//   memory.counters().requested_peak;   // peak of requested bytes

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/cell.h"

namespace attnscope::measure {

/// Thrown for a request that does not fit, before the machine swaps.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(std::int64_t requested, std::int64_t free);
  [[nodiscard]] std::int64_t requested_bytes() const { return requested_; }
  [[nodiscard]] std::int64_t free_bytes() const { return free_; }
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::int64_t requested_, free_;
  std::string what_;
};

class HeatMemory {
 public:
  struct Counters {
    std::int64_t requested = 0;       // live bytes, as requested
    std::int64_t requested_peak = 0;  // since reset_peaks()
    std::int64_t reserved = 0;        // taken from the system: live and cached, after rounding
    std::int64_t reserved_peak = 0;
    std::int64_t cached = 0;  // the part of `reserved` that is free for reuse
    std::int64_t fresh = 0;   // ever taken from the system; grows when the cache cannot serve
  };

  HeatMemory() = default;
  HeatMemory(const HeatMemory&) = delete;
  HeatMemory& operator=(const HeatMemory&) = delete;
  virtual ~HeatMemory() = default;

  /// Throws OutOfMemory. Returns nullptr for 0 bytes.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;
  /// Returns cached blocks to the system.
  virtual void empty_cache() noexcept = 0;
  /// The same, but may keep blocks that are so large that their address does not affect times:
  /// clearing their pages again would take longer than most calls.
  virtual void empty_cache_of_movable() noexcept { empty_cache(); }
  /// Leaves the cache empty until restore_cache(); its blocks may be kept until then.
  virtual void set_cache_aside() noexcept { empty_cache(); }
  virtual void restore_cache() noexcept {}
  /// Flushes all memory that a call may access from the processor's caches.
  virtual void flush_from_caches() = 0;
  virtual void reset_peaks() = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  /// Sizes in bytes of the cached blocks. After a call that began with an empty cache, these are
  /// the blocks that a similar call needs. Empty where they are unknown.
  [[nodiscard]] virtual std::vector<std::int64_t> cached_blocks() const { return {}; }
  /// Adds missing blocks of these sizes to the cache and touches every page, so that the next call
  /// causes no page faults. Does nothing if they do not all fit.
  virtual void provide(std::span<const std::int64_t> /*blocks*/) {}

  /// While set, blocks are allocated so that another process can map them
  /// (engine/attention/served/served_process.h), and are returned to the system when they are
  /// released.
  virtual void set_shared(bool /*shares*/) {}

  /// Limits all blocks together to `bytes`; absent: limited only by the memory itself.
  virtual void set_limit(std::optional<std::int64_t> bytes) = 0;
  /// The largest request that can be served now, counting cached blocks as free.
  [[nodiscard]] virtual std::int64_t free_bytes() const = 0;

  /// After a failure: the error of every further use of the device, or nothing if the device still
  /// works.
  [[nodiscard]] virtual std::optional<std::string> lost() { return std::nullopt; }
};

/// Empties the cache for a scope.
class EmptyCache {
 public:
  explicit EmptyCache(HeatMemory& memory) : memory_(memory) { memory.set_cache_aside(); }
  EmptyCache(const EmptyCache&) = delete;
  EmptyCache& operator=(const EmptyCache&) = delete;
  ~EmptyCache() { memory_.restore_cache(); }

 private:
  HeatMemory& memory_;
};

/// A block that is released at the end of its scope.
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

/// The failure of a contender that has no time.
struct Failure {
  CellStatus status = CellStatus::crashed;
  std::string reason;  // one sentence
};

/// Runs `action` and converts its exceptions: memory that does not fit becomes `oom`, with the
/// requested and the free bytes; everything else becomes `crashed`. After a failure the cache is
/// emptied, so that the remaining contenders have the memory. A device that is lost after the
/// failure throws cuda::DeviceLost with a message: no contender can then continue in this process.
[[nodiscard]] std::optional<Failure> guarded(HeatMemory& memory,
                                             const std::function<void()>& action);

/// Statistics of LibTorch's CUDA allocator: sums over all pools of one device. The functions below
/// call no CUDA function.
struct CudaAllocatorStatistics {
  std::int64_t requested = 0, requested_peak = 0;  // requested bytes, before rounding
  std::int64_t reserved = 0, reserved_peak = 0;    // allocated from the driver
  std::int64_t reserved_ever = 0;                  // all driver allocations, freed ones included
  std::int64_t active = 0;  // the part of `reserved` that is in use, rounded to blocks
};

[[nodiscard]] HeatMemory::Counters counters_of(const CudaAllocatorStatistics& statistics);

/// The largest request that can succeed once cached blocks are freed: the driver's free memory plus
/// the cached blocks, less a margin for contexts, modules and fragmentation. With `limit`, all
/// reserved memory stays within it.
[[nodiscard]] std::int64_t free_for_requests(const CudaAllocatorStatistics& statistics,
                                             std::int64_t driver_free, std::int64_t driver_total,
                                             std::optional<std::int64_t> limit);

/// LibTorch's out-of-memory message, up to the requested and the free bytes.
[[nodiscard]] std::string requested_and_free(std::string_view libtorch_words);

/// The time between two events minus that of an empty pair, but at least half of the measured time,
/// because an empty pair occasionally takes longer.
[[nodiscard]] double without_empty_pair(double between_ns, double empty_ns);

}  // namespace attnscope::measure
