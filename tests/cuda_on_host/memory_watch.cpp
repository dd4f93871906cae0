// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/memory_watch.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda_on_host/device_arena.h"
#include "tests/cuda_on_host/grid.h"

// The loaded program, from its first byte to its last variable.
extern "C" const char __executable_start, _end;

namespace attnscope::on_host {

namespace {

/// The accesses of other blocks that a block is ordered after. A thread that adds to an atomic
/// counter after a __threadfence publishes the earlier accesses of its block; a thread that adds to
/// the same counter later, and then fences, may use them, and after a barrier so may its whole
/// block.
class BlockOrder {
 public:
  void begin_launch() { published_.clear(); }
  void begin_block(std::size_t threads) {
    observed_.clear();
    fences_.assign(threads, 0);
    fence_epochs_.assign(threads, 0);
  }

  void fence(int thread, std::uint32_t epoch) {
    ++fences_[static_cast<std::size_t>(thread)];
    fence_epochs_[static_cast<std::size_t>(thread)] = epoch;
    for (Observation& seen : observed_) {
      if (seen.fenced_by >= 0 || (seen.thread != thread && seen.epoch >= epoch)) continue;
      seen.fenced_by = thread;
      seen.fence_epoch = epoch;
    }
  }
  void atomic(const void* at, int thread, std::uint32_t epoch, std::uint32_t first_epoch_of_block) {
    std::vector<Publication>& all = published_[at];
    for (const Publication& one : all) {
      if (one.first_epoch_of_block == first_epoch_of_block) continue;
      observed_.push_back({one, thread, epoch});
    }
    all.push_back({first_epoch_of_block, epoch, fence_epochs_[static_cast<std::size_t>(thread)],
                   thread, fences_});
  }
  [[nodiscard]] std::uint16_t fences(int thread) const {
    return fences_[static_cast<std::size_t>(thread)];
  }

  /// Whether another block's last write, or its reads, are ordered before what `thread` does now.
  [[nodiscard]] bool knows_write(const Granule& granule, int thread, std::uint32_t epoch) const {
    return knows(thread, epoch, [&](const Publication& one) {
      const std::uint32_t at = granule.write_epoch;
      if (at < one.first_epoch_of_block || at > one.epoch) return false;
      const bool by_publisher = granule.writer == one.thread;
      const bool fenced = granule.writer_fences < one.fences[granule.writer];
      return at < one.fence_epoch || (fenced && (by_publisher || at < one.epoch)) ||
             (granule.by_atomic && by_publisher && at == one.epoch);
    });
  }
  [[nodiscard]] bool knows_reads(const Granule& granule, int thread, std::uint32_t epoch) const {
    return !granule.read_by_many_blocks && knows(thread, epoch, [&](const Publication& one) {
      const std::uint32_t at = granule.read_epoch;
      return at >= one.first_epoch_of_block &&
             (at < one.epoch || (at == one.epoch && granule.reader == one.thread));
    });
  }

 private:
  struct Publication {
    std::uint32_t first_epoch_of_block, epoch;
    std::uint32_t fence_epoch;  // of the publishing thread's latest fence, 0 without one
    int thread;
    std::vector<std::uint16_t> fences;  // of the block's threads
  };
  struct Observation {
    Publication published;
    int thread;
    std::uint32_t epoch;
    int fenced_by = -1;
    std::uint32_t fence_epoch = 0;
  };
  template <typename Covers>
  [[nodiscard]] bool knows(int thread, std::uint32_t epoch, const Covers& covers) const {
    return std::ranges::any_of(observed_, [&](const Observation& seen) {
      const bool usable =
          seen.fenced_by >= 0 && (seen.fenced_by == thread || seen.fence_epoch < epoch);
      return usable && covers(seen.published);
    });
  }

  std::unordered_map<const void*, std::vector<Publication>> published_;
  std::vector<Observation> observed_;
  std::vector<std::uint16_t> fences_;
  std::vector<std::uint32_t> fence_epochs_;
};

constexpr std::size_t shared_red_zone = 4096;
constexpr std::size_t shared_bytes_with_red_zones = most_shared_bytes + 3 * shared_red_zone;

/// Aligned to exactly 128 bytes, with red zones.
struct SharedMemory {
  std::byte* memory = new (std::align_val_t(4096)) std::byte[shared_bytes_with_red_zones];
  std::byte* begin = memory + shared_red_zone + 128;
  std::vector<Granule> granules = std::vector<Granule>(most_shared_bytes / 2);
};

SharedMemory shared;
BlockOrder block_order;

std::int64_t checked_accesses = 0;

/// Bytes of shared memory or of an allocation.
struct Watched {
  std::byte* begin;
  std::int64_t bytes;
  Granule* granules;
  bool is_shared;
  const char* name;
};

/// Part of a message, without allocated memory: misuse() does not unwind stacks.
struct Words {
  template <typename... Arguments>
  explicit Words(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    fmt::format_to_n(characters, sizeof characters - 1, text,
                     std::forward<Arguments>(arguments)...);
  }
  char characters[200] = {};
};

[[nodiscard]] Words place(const Watched& memory, const void* address) {
  return Words("{}, byte {} of {}", memory.name,
               static_cast<const std::byte*>(address) - memory.begin, memory.bytes);
}

[[nodiscard]] const char* verb(Access access) {
  if (access == Access::read) return "reads";
  return access == Access::write ? "writes" : "atomically changes";
}

/// The current time of the running thread.
struct Now {
  std::uint32_t oldest;  // what came before is ordered: of the launch, for shared memory the block
  std::uint32_t epoch;
  std::uint32_t warp_epoch;
  int thread;
  int warp;
};

[[nodiscard]] Now now_of_thread(bool is_shared) {
  const Grid& all = grid();
  const int warp = all.thread / warp_lanes;
  return {is_shared ? all.first_epoch_of_block : all.first_epoch_of_launch, all.epoch,
          all.warps[static_cast<std::size_t>(warp)].epoch, all.thread, warp};
}

/// Whether the granule's last write is ordered before what the thread does now.
[[nodiscard]] bool ordered_after_write(const Granule& granule, const Now& now) {
  const Grid& all = grid();
  const std::uint32_t at = granule.write_epoch;
  if (at < now.oldest) return true;
  if (at < all.first_epoch_of_block) {
    return block_order.knows_write(granule, now.thread, now.epoch);
  }
  if (at < now.epoch || granule.writer == now.thread) return true;
  return granule.writer / warp_lanes == now.warp && granule.write_warp_epoch < now.warp_epoch;
}

[[nodiscard]] bool ordered_after_reads(const Granule& granule, const Now& now) {
  const Grid& all = grid();
  const std::uint32_t at = granule.read_epoch;
  if (at < now.oldest) return true;
  if (at < all.first_epoch_of_block) {
    return block_order.knows_reads(granule, now.thread, now.epoch);
  }
  if (at < now.epoch || granule.reader == now.thread) return true;
  return granule.reader_warp == now.warp && granule.read_warp_epoch < now.warp_epoch;
}

void remember_read(Granule& granule, const Now& now) {
  const Grid& all = grid();
  const auto thread = static_cast<std::uint16_t>(now.thread);
  const auto warp = static_cast<std::uint16_t>(now.warp);
  if (granule.read_epoch < now.epoch) {
    const bool still_counts = granule.read_epoch >= now.oldest;
    granule.read_by_many_blocks = still_counts && (granule.read_by_many_blocks ||
                                                   granule.read_epoch < all.first_epoch_of_block);
    granule.read_epoch = now.epoch;
    granule.read_warp_epoch = now.warp_epoch;
    granule.reader = thread;
    granule.reader_warp = warp;
  } else if (granule.reader_warp != warp) {
    granule.reader_warp = Granule::several;
    granule.reader = Granule::several;
  } else if (granule.read_warp_epoch < now.warp_epoch) {
    granule.read_warp_epoch = now.warp_epoch;
    granule.reader = thread;
  } else if (granule.reader != thread) {
    granule.reader = Granule::several;
  }
}

void remember_write(Granule& granule, const Now& now, bool atomic) {
  granule.write_epoch = now.epoch;
  granule.write_warp_epoch = now.warp_epoch;
  granule.writer = static_cast<std::uint16_t>(now.thread);
  granule.writer_fences = block_order.fences(now.thread);
  granule.written = true;
  granule.by_atomic = atomic;
}

[[noreturn]] void raced(const Watched& memory, const void* address, const Granule& granule,
                        Access access, bool with_write) {
  const Grid& all = grid();
  const std::uint32_t at = with_write ? granule.write_epoch : granule.read_epoch;
  const std::uint16_t other = with_write ? granule.writer : granule.reader;
  const Words thread =
      other == Granule::several ? Words("several threads") : Words("thread {}", other);
  misuse(fmt::format("race: {} {}, which {} of {} {}, and nothing orders the two", verb(access),
                     place(memory, address).characters, thread.characters,
                     at < all.first_epoch_of_block ? "another block" : "this block",
                     with_write ? "wrote" : "read"));
}

void check_granule(const Watched& memory, const void* address, Granule& granule, Access access,
                   const Now& now) {
  const bool written =
      granule.written && (!memory.is_shared || granule.write_epoch >= grid().first_epoch_of_block);
  if (access != Access::write && !written) {
    misuse(fmt::format("{} {}, which nothing has written", verb(access),
                       place(memory, address).characters));
  }
  const bool both_atomic = access == Access::atomic && granule.by_atomic;
  if (written && !both_atomic && !ordered_after_write(granule, now)) {
    raced(memory, address, granule, access, true);
  }
  if (access == Access::read) {
    remember_read(granule, now);
    return;
  }
  if (!ordered_after_reads(granule, now)) raced(memory, address, granule, access, false);
  remember_write(granule, now, access == Access::atomic);
}

[[nodiscard]] std::span<Granule> granules(const Watched& memory, const void* address,
                                          std::size_t bytes) {
  const std::int64_t first = static_cast<const std::byte*>(address) - memory.begin;
  const std::int64_t end = first + static_cast<std::int64_t>(bytes);
  return {memory.granules + first / 2, memory.granules + (end + 1) / 2};
}

void check_watched(const Watched& memory, const void* address, std::size_t bytes, Access access) {
  ++checked_accesses;
  const auto thread = static_cast<std::size_t>(grid().thread);
  ++grid().warps[thread / warp_lanes].accesses[thread % warp_lanes];
  const std::int64_t offset = static_cast<const std::byte*>(address) - memory.begin;
  if (offset < 0 || offset + static_cast<std::int64_t>(bytes) > memory.bytes) {
    misuse(fmt::format("{} {} bytes outside {}", verb(access), bytes,
                       place(memory, address).characters));
  }
  const Now now = now_of_thread(memory.is_shared);
  for (Granule& granule : granules(memory, address, bytes)) {
    check_granule(memory, address, granule, access, now);
  }
}

[[nodiscard]] Watched watched(Allocation& allocation) {
  return {allocation.begin, static_cast<std::int64_t>(allocation.bytes), allocation.granules.data(),
          false, allocation.name.c_str()};
}

[[nodiscard]] bool within(const void* address, std::size_t bytes,
                          std::span<const std::byte> memory) {
  const auto* at = static_cast<const std::byte*>(address);
  return at >= memory.data() && at + bytes <= memory.data() + memory.size();
}

[[nodiscard]] bool in_program(const void* address) {
  const auto* at = static_cast<const char*>(address);
  return at >= &__executable_start && at < &_end;
}

}  // namespace

std::byte* shared_memory() {
  return shared.begin;
}

void check_access(const void* address, std::size_t bytes, Access access) {
  const Grid& now = grid();
  if (within(address, bytes, now.fibres[static_cast<std::size_t>(now.thread)].stack)) return;
  if (within(address, 1, {shared.memory, shared_bytes_with_red_zones})) {
    const Watched memory{shared.begin, now.shared_bytes, shared.granules.data(), true,
                         "shared memory"};
    return check_watched(memory, address, bytes, access);
  }
  if (Allocation* allocation = device_arena().find(address)) {
    return check_watched(watched(*allocation), address, bytes, access);
  }
  if (access == Access::read && (within(address, bytes, now.parameters) || in_program(address))) {
    return;
  }
  misuse(fmt::format("{} {} bytes at an address that is neither device nor shared memory",
                     verb(access), bytes));
}

void check_read_only(const void* address, std::size_t bytes) {
  const OnHost on_host;
  Allocation* allocation = device_arena().find(address);
  if (allocation == nullptr) misuse("__ldg reads what is not device memory");
  const Watched memory = watched(*allocation);
  check_watched(memory, address, bytes, Access::read);
  const auto all = granules(memory, address, bytes);
  if (std::ranges::any_of(all, [](const Granule& granule) {
        return granule.write_epoch >= grid().first_epoch_of_launch;
      })) {
    misuse(fmt::format("__ldg reads {}, which this launch has written",
                       place(memory, address).characters));
  }
}

void check_atomic(const void* address, std::size_t bytes) {
  const OnHost on_host;
  const Grid& now = grid();
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    misuse(fmt::format("an atomic operation at an address that is not a multiple of {}", bytes));
  }
  check_access(address, bytes, Access::atomic);
  block_order.atomic(address, now.thread, now.epoch, now.first_epoch_of_block);
}

void misaligned(const void* address, const char* file, unsigned line) {
  misuse(fmt::format("accesses {} through a type that needs more alignment, at {}:{}", address,
                     file, line));
}

void out_of_array(std::int64_t index, const char* file, unsigned line) {
  misuse(fmt::format("index {} is beyond its array, at {}:{}", index, file, line));
}

void fence_of_thread() {
  block_order.fence(grid().thread, grid().epoch);
}

std::int64_t accesses_checked() {
  return checked_accesses;
}

void begin_launch_in_watch() {
  block_order.begin_launch();
}

void begin_block_in_watch() {
  block_order.begin_block(static_cast<std::size_t>(grid().threads));
  std::memset(shared.begin, poison, static_cast<std::size_t>(grid().shared_bytes));
}

}  // namespace attnscope::on_host
