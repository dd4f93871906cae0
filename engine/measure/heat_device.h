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
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/measure/conditions.h"
#include "engine/measure/heat_memory.h"
#include "engine/pattern/axes.h"

namespace attnscope::measure {

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
