#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The device that a heat is measured on, the processor or a CUDA device: its memory, its stopwatch,
// its conditions, and whether it still works.
//
//   HeatDevice& device = heat_device(point.device);
//   device.stopwatch().start();
//   call();                                            // may only be queued
//   const double ns = device.stopwatch().stop_ns();    // waits; an error of the call surfaces here
//
// The processor's memory is that of this process, counted and cached (BlockCache).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/measure/conditions.h"
#include "engine/pattern/axes.h"

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

/// Memory of a heat's tensors and workspaces, on the processor or on a device.
///
///   HeatMemory& memory = device.memory();
///   memory.reset_peaks();
///   { Buffer workspace(memory, bytes);  run(workspace.bytes()); }
///   memory.counters().requested_peak;   // peak of requested bytes
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
/// requested and the free bytes; NotSupported becomes `unsupported`; everything else becomes
/// `crashed`. After a failure the cache is
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

/// Measures elapsed time on the clock of the device that computes the calls.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  virtual ~Stopwatch() = default;
  virtual void start() = 0;
  /// Nanoseconds since start(), after all calls in between have completed.
  [[nodiscard]] virtual double stop_ns() = 0;
};

/// For calls that are complete when they return.
[[nodiscard]] Stopwatch& wall_clock();

/// A call whose kernels were captured once; replay() launches all of them with one request of the
/// host, at the addresses they were captured with.
class CapturedCall {
 public:
  CapturedCall() = default;
  CapturedCall(const CapturedCall&) = delete;
  CapturedCall& operator=(const CapturedCall&) = delete;
  virtual ~CapturedCall() = default;
  virtual void replay() = 0;
};

/// Thrown for what a contender does not support; the message states what.
class NotSupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HeatDevice {
 public:
  HeatDevice() = default;
  HeatDevice(const HeatDevice&) = delete;
  HeatDevice& operator=(const HeatDevice&) = delete;
  virtual ~HeatDevice() = default;
  [[nodiscard]] virtual DeviceKind kind() const = 0;
  [[nodiscard]] virtual HeatMemory& memory() = 0;
  [[nodiscard]] virtual Stopwatch& stopwatch() = 0;
  [[nodiscard]] virtual ConditionsMeter& conditions() = 0;
  /// Captures the kernels that `call` launches, after a run of `call` that is not captured. Throws
  /// NotSupported for a call that cannot be captured, because it waits for the device for example.
  [[nodiscard]] virtual std::unique_ptr<CapturedCall> capture(const std::function<void()>& call);
};

/// The device of this kind, or the processor if the device cannot be used: cuda::usable() gives the
/// reason, and every contender is then unsupported before anything is measured.
[[nodiscard]] HeatDevice& heat_device(DeviceKind kind);

/// The current CUDA device; requires cuda::usable().
[[nodiscard]] HeatDevice& cuda_heat_device();

/// Counted and cached memory for everything that a call on the processor uses: inputs, outputs,
/// workspaces and LibTorch's own tensors. Freed blocks are kept and reused, as in the CUDA caching
/// allocator; otherwise a time would include page faults. Thread-safe. Blocks are aligned to 64
/// bytes; blocks of 2 MiB and more are aligned to 2 MiB, with huge pages advised.
class BlockCache final : public HeatMemory {
 public:
  BlockCache() = default;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache() override;

  [[nodiscard]] void* allocate(std::size_t bytes) override;
  void release(void* data) noexcept override;
  void empty_cache() noexcept override;
  void empty_cache_of_movable() noexcept override;
  void set_cache_aside() noexcept override;
  void restore_cache() noexcept override;
  void flush_from_caches() override;
  void reset_peaks() override;
  [[nodiscard]] Counters counters() const override;
  [[nodiscard]] std::vector<std::int64_t> cached_blocks() const override;
  void provide(std::span<const std::int64_t> blocks) override;
  void set_shared(bool shares) override;
  void set_limit(std::optional<std::int64_t> bytes) override;
  [[nodiscard]] std::int64_t free_bytes() const override;

 private:
  struct Block {
    std::int64_t requested = 0;
    std::int64_t size = 0;
  };
  [[nodiscard]] std::int64_t free_bytes_locked() const;
  [[nodiscard]] void* take_from_system(std::int64_t requested, std::int64_t size);
  void empty_cache_locked(std::int64_t below) noexcept;
  void release_aside_locked() noexcept;

  mutable std::mutex mutex_;
  std::unordered_map<void*, Block> live_;
  using BySize = std::multimap<std::int64_t, void*>;
  BySize cached_;
  BySize aside_;  // not included in any counter; freed when a request needs its memory
  std::int64_t aside_bytes_ = 0;
  std::optional<std::int64_t> limit_;
  bool shares_ = false;
  std::int64_t unchecked_small_ = 0;
  Counters counters_;
};

/// The memory of this process. From the first call on, LibTorch allocates from it: every CPU tensor
/// is then counted, cached, aligned and refused before the machine swaps. (Private packing buffers
/// of MKL and oneDNN are not included.) It is never destroyed: LibTorch keeps tensors until after
/// main.
[[nodiscard]] BlockCache& process_memory();

inline constexpr std::int64_t cache_line = 64;  // bytes

/// Whether this processor lets a process flush cache lines (x86-64 does).
[[nodiscard]] bool can_flush_caches();

/// Flushes lines from all caches of all cores, with write-back of modified lines, for measurements
/// with cold caches. This is exact, unlike a sweep over a larger buffer: adaptive replacement
/// policies keep a third of the lines through a sweep of 1.5 times the cache size. Runs on as many
/// threads as the process measures with, at 50 GB/s on two cores. Does nothing where flushing is
/// not supported.
void flush_from_caches(std::span<const std::byte> bytes);

}  // namespace attnscope::measure
