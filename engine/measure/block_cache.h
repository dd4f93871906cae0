#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Counted and cached memory for everything a measured call touches: inputs, outputs, workspaces and
// LibTorch's own tensors. Freed blocks are kept and reused, as in the CUDA caching allocator;
// otherwise a timing would measure page faults.
//
//   BlockCache memory;
//   memory.reset_peaks();
//   { Buffer workspace(memory, bytes);  run(workspace.bytes()); }
//   memory.counters().requested_peak;   // peak of requested bytes

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/measure/heat_memory.h"

namespace attnscope::measure {

/// Thread-safe. Blocks are aligned to 64 bytes; blocks of 2 MiB and more are aligned to 2 MiB, with
/// huge pages advised.
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
  void take_cache_back() noexcept override;
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
  void give_aside_back_locked() noexcept;

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

/// Description of the allocator used for all tensors, for provenance.
inline constexpr const char* process_memory_in_words =
    "counting and caching, 64-byte aligned; from 2 MiB on aligned to 2 MiB, huge pages advised";

/// The memory of this process. From the first call on, LibTorch allocates from it: every CPU tensor
/// is then counted, cached, aligned and refused before the machine swaps. (Private packing buffers
/// of MKL and oneDNN are not included.) It is never destroyed: LibTorch keeps tensors until after
/// main.
[[nodiscard]] BlockCache& process_memory();

}  // namespace attnscope::measure
