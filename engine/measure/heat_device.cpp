// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_device.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/served/served_process.h"
#include "engine/measure/conditions.h"
#include "engine/measure/machine.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace attnscope::measure {
namespace {

class WallClock final : public Stopwatch {
 public:
  void start() override { start_ = Clock::now(); }
  double stop_ns() override {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

class Processor final : public HeatDevice {
 public:
  DeviceKind kind() const override { return DeviceKind::cpu; }
  HeatMemory& memory() override { return process_memory(); }
  Stopwatch& stopwatch() override { return wall_clock(); }
  ConditionsMeter& conditions() override { return processor_conditions(); }
};

constexpr std::int64_t huge_page = std::int64_t{2} << 20;
constexpr std::int64_t small_step = 512;  // rounding of sizes below a huge page, as on CUDA
constexpr std::int64_t alignment = 64;
// Small blocks are checked against the machine's memory only once per this many new bytes: the
// query to the kernel costs more than a block.
constexpr std::int64_t small_check_step = 16 * huge_page;
// Size from which a block's address does not affect times: a block of at least 32 huge pages covers
// every cache set evenly.
constexpr std::int64_t least_unmoved = 32 * huge_page;
constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

std::int64_t rounded(std::int64_t bytes) {
  const std::int64_t step = bytes < huge_page ? small_step : huge_page;
  return (bytes + step - 1) / step * step;
}

/// Maps `size` bytes at a huge page boundary; nullptr if the system refuses.
void* map_huge(std::int64_t size) {
  const auto whole = static_cast<std::size_t>(size + huge_page);
  void* mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t lead = static_cast<std::size_t>(
      (static_cast<std::uintptr_t>(huge_page) - address % huge_page) % huge_page);
  if (lead > 0) munmap(start, lead);
  munmap(start + lead + size, whole - lead - static_cast<std::size_t>(size));
  madvise(start + lead, static_cast<std::size_t>(size), MADV_HUGEPAGE);
  return start + lead;
}

void touch(std::span<std::byte> block) {
  constexpr std::int64_t page = 4096;
  const auto size = static_cast<std::int64_t>(block.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < size; at += page) block[static_cast<std::size_t>(at)] = {};
}

void release_to_system(void* data, std::int64_t size) noexcept {
  if (size < huge_page) {
    std::free(data);
  } else {
    munmap(data, static_cast<std::size_t>(size));
  }
}

// LibTorch's deleters are plain functions without an object, so there is one cache per process.
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

// Above the priority of all allocators that LibTorch registers itself.
constexpr std::uint8_t priority = 127;

}  // namespace

std::unique_ptr<CapturedCall> HeatDevice::capture(const std::function<void()>& /*call*/) {
  throw NotSupported("the CPU has no graphs of launches; use launch eager");
}

Stopwatch& wall_clock() {
  static WallClock clock;
  return clock;
}

HeatDevice& heat_device(DeviceKind kind) {
  static Processor processor;
  if (kind == DeviceKind::cuda && cuda::usable()) return cuda_heat_device();
  return processor;
}

BlockCache::~BlockCache() {
  restore_cache();
  empty_cache();
}

void* BlockCache::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max() / 2))
    throw OutOfMemory(std::numeric_limits<std::int64_t>::max(), free_bytes_locked());
  const auto requested = static_cast<std::int64_t>(bytes);
  Block block{requested, rounded(requested)};
  void* data = nullptr;
  // Uses the best-fitting cached block, unless it would waste more than a quarter.
  const auto fit = cached_.lower_bound(block.size);
  if (!shares_ && fit != cached_.end() && fit->first <= block.size + block.size / 4) {
    block.size = fit->first;
    data = fit->second;
    cached_.erase(fit);
    counters_.cached -= block.size;
  } else {
    data = take_from_system(requested, block.size);
  }
  live_.emplace(data, block);
  counters_.requested += requested;
  counters_.requested_peak = std::max(counters_.requested_peak, counters_.requested);
  return data;
}

void* BlockCache::take_from_system(std::int64_t requested, std::int64_t size) {
  unchecked_small_ += size < huge_page ? size : 0;
  if (size >= huge_page || unchecked_small_ > small_check_step || limit_) {
    unchecked_small_ = 0;
    const std::int64_t free = free_bytes_locked();
    if (requested > free) throw OutOfMemory(requested, free);
    // The free bytes include cached blocks; these must be freed when the request needs their
    // memory.
    if (requested > free - counters_.cached - aside_bytes_) release_aside_locked();
    if (requested > free - counters_.cached) empty_cache_locked(any_size);
  }
  const auto bytes = static_cast<std::size_t>(size);
  void* data = shares_            ? map_shared(bytes)
               : size < huge_page ? std::aligned_alloc(alignment, bytes)
                                  : map_huge(size);
  if (data == nullptr) throw OutOfMemory(requested, free_bytes_locked());
  counters_.reserved += size;
  counters_.reserved_peak = std::max(counters_.reserved_peak, counters_.reserved);
  counters_.fresh += size;
  return data;
}

void BlockCache::release(void* data) noexcept {
  if (data == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(data);
  if (found == live_.end()) std::abort();  // not ours, or released twice
  counters_.requested -= found->second.requested;
  if (unmap_shared(data)) {
    counters_.reserved -= found->second.size;
  } else {
    counters_.cached += found->second.size;
    cached_.emplace(found->second.size, data);
  }
  live_.erase(found);
}

void BlockCache::empty_cache() noexcept {
  const std::lock_guard lock(mutex_);
  empty_cache_locked(any_size);
}

void BlockCache::empty_cache_of_movable() noexcept {
  const std::lock_guard lock(mutex_);
  empty_cache_locked(least_unmoved);
}

void BlockCache::empty_cache_locked(std::int64_t below) noexcept {
  const auto end = cached_.lower_bound(below);
  for (auto block = cached_.begin(); block != end; block = cached_.erase(block)) {
    release_to_system(block->second, block->first);
    counters_.reserved -= block->first;
    counters_.cached -= block->first;
  }
}

// Only if half of the free memory remains free: the kept blocks must not reduce the memory of a
// metered call.
void BlockCache::set_cache_aside() noexcept {
  const std::lock_guard lock(mutex_);
  empty_cache_locked(least_unmoved);
  if (2 * counters_.cached > free_bytes_locked()) empty_cache_locked(any_size);
  aside_.merge(cached_);
  aside_bytes_ += counters_.cached;
  counters_.reserved -= counters_.cached;
  counters_.cached = 0;
}

void BlockCache::restore_cache() noexcept {
  const std::lock_guard lock(mutex_);
  cached_.merge(aside_);
  counters_.reserved += aside_bytes_;
  counters_.cached += aside_bytes_;
  aside_bytes_ = 0;
}

void BlockCache::release_aside_locked() noexcept {
  for (const auto& [size, data] : aside_) release_to_system(data, size);
  aside_.clear();
  aside_bytes_ = 0;
}

void BlockCache::flush_from_caches() {
  const std::lock_guard lock(mutex_);
  const auto flush = [](const void* data, std::int64_t size) {
    measure::flush_from_caches(
        {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
  };
  for (const auto& [data, block] : live_) flush(data, block.size);
  for (const auto& [size, data] : cached_) flush(data, size);
}

void BlockCache::reset_peaks() {
  const std::lock_guard lock(mutex_);
  counters_.requested_peak = counters_.requested;
  counters_.reserved_peak = counters_.reserved;
}

std::vector<std::int64_t> BlockCache::cached_blocks() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> sizes;
  for (const auto& [size, data] : cached_) sizes.push_back(size);
  return sizes;
}

void BlockCache::provide(std::span<const std::int64_t> blocks) {
  if (std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}) > free_bytes()) return;
  std::vector<Buffer> held;
  try {
    for (const std::int64_t size : blocks) {
      const std::int64_t before = counters().fresh;
      held.emplace_back(*this, size);
      if (counters().fresh != before) touch(held.back().bytes());
    }
  } catch (const OutOfMemory&) {
    // Other processes took the memory meanwhile; the calls will detect this themselves.
  }
}

BlockCache::Counters BlockCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void BlockCache::set_shared(bool shares) {
  const std::lock_guard lock(mutex_);
  shares_ = shares;
}

void BlockCache::set_limit(std::optional<std::int64_t> bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::int64_t BlockCache::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_bytes_locked();
}

std::int64_t BlockCache::free_bytes_locked() const {
  // Mapped but untouched pages are committed, yet the kernel still counts them as available.
  const std::int64_t promised =
      std::max<std::int64_t>(counters_.reserved + aside_bytes_ - resident_bytes(), 0);
  std::int64_t free = available_memory_bytes() - promised + counters_.cached + aside_bytes_;
  if (limit_) free = std::min(free, *limit_ - (counters_.reserved - counters_.cached));
  return std::max<std::int64_t>(free, 0);
}

BlockCache& process_memory() {
  static const bool installed = [] {
    c10::SetCPUAllocator(new CountingAllocator, priority);
    return true;
  }();
  static_cast<void>(installed);
  return cache();
}

#ifdef __x86_64__
namespace {

constexpr std::int64_t part_lines = 4096;  // lines per thread and step: 256 KiB

using FlushLines = void (*)(const std::byte* first, std::int64_t lines);

/// Flushes lines unordered and in parallel: 60 times as fast as clflush, which is serialised.
__attribute__((target("clflushopt"))) void flush_in_any_order(const std::byte* first,
                                                              std::int64_t lines) {
  for (std::int64_t i = 0; i < lines; ++i) {
    _mm_clflushopt(const_cast<std::byte*>(first + i * cache_line));
  }
  _mm_sfence();
}

void flush_in_order(const std::byte* first, std::int64_t lines) {
  for (std::int64_t i = 0; i < lines; ++i) _mm_clflush(first + i * cache_line);
  _mm_mfence();
}

FlushLines fastest() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool any_order = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
  return any_order ? flush_in_any_order : flush_in_order;
}

}  // namespace

bool can_flush_caches() {
  return true;  // clflush is part of x86-64
}

void flush_from_caches(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  static const FlushLines flush = fastest();
  const auto lead =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(bytes.data()) % cache_line);
  const std::byte* const first = bytes.data() - lead;
  const std::int64_t lines =
      (lead + static_cast<std::int64_t>(bytes.size()) + cache_line - 1) / cache_line;
  const std::int64_t parts = (lines + part_lines - 1) / part_lines;
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = part * part_lines;
    flush(first + begin * cache_line, lines - begin < part_lines ? lines - begin : part_lines);
  }
}
#else
bool can_flush_caches() {
  return false;
}

void flush_from_caches(std::span<const std::byte>) {}
#endif

namespace {

std::optional<Failure> attempt(HeatMemory& memory, const std::function<void()>& action) {
  try {
    action();
    return std::nullopt;
  } catch (const OutOfMemory& error) {
    return Failure{CellStatus::oom, error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{CellStatus::oom, fmt::format("an allocation failed when {} were free",
                                                bytes_text(memory.free_bytes()))};
  } catch (const ServedProcessEnded& error) {
    return Failure{error.for_memory() ? CellStatus::oom : CellStatus::crashed, error.what()};
  } catch (const cuda::DeviceLost&) {
    throw;  // no contender can continue in this process
  } catch (const c10::OutOfMemoryError& error) {
    const std::string words = requested_and_free(error.what_without_backtrace());
    return Failure{CellStatus::oom,
                   fmt::format("{} ({} were free)", words, bytes_text(memory.free_bytes()))};
  } catch (const NotSupported& error) {
    return Failure{CellStatus::unsupported, error.what()};
  } catch (const c10::Error& error) {
    return Failure{CellStatus::crashed, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Failure{CellStatus::crashed, error.what()};
  }
}

/// LibTorch's messages have several lines; the first one states the error.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

OutOfMemory::OutOfMemory(std::int64_t requested, std::int64_t free)
    : requested_(requested),
      free_(free),
      what_(
          fmt::format("requested {} when {} were free", bytes_text(requested), bytes_text(free))) {}

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

std::optional<Failure> guarded(HeatMemory& memory, const std::function<void()>& action) {
  std::optional<Failure> failure = attempt(memory, action);
  if (!failure) return failure;
  if (const auto lost = memory.lost()) {
    throw cuda::DeviceLost(fmt::format("{}; the device is lost to this process: {}",
                                       first_line(failure->reason), *lost));
  }
  memory.empty_cache();
  return failure;
}

HeatMemory::Counters counters_of(const CudaAllocatorStatistics& statistics) {
  return {.requested = statistics.requested,
          .requested_peak = statistics.requested_peak,
          .reserved = statistics.reserved,
          .reserved_peak = statistics.reserved_peak,
          .cached = statistics.reserved - statistics.active,
          .fresh = statistics.reserved_ever};
}

std::int64_t free_for_requests(const CudaAllocatorStatistics& statistics, std::int64_t driver_free,
                               std::int64_t driver_total, std::optional<std::int64_t> limit) {
  const std::int64_t margin = std::clamp(driver_total / 50, 256 * mib, 2048 * mib);
  const std::int64_t cached = statistics.reserved - statistics.active;
  std::int64_t free = driver_free + cached - margin;
  if (limit) free = std::min(free, *limit - statistics.active);
  return std::max<std::int64_t>(free, 0);
}

double without_empty_pair(double between_ns, double empty_ns) {
  return std::max(between_ns - empty_ns, between_ns / 2);
}

std::string requested_and_free(std::string_view libtorch_words) {
  constexpr std::string_view last = " is free.";
  const std::size_t at = libtorch_words.find(last);
  if (at == std::string_view::npos) return std::string(libtorch_words);
  return std::string(libtorch_words.substr(0, at + last.size()));
}

}  // namespace attnscope::measure
