#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a block knows of others of its launch. A thread that adds to an atomic counter behind a
// __threadfence publishes what its block did before; a thread that adds to the same counter later,
// and then fences, may use it, and behind a barrier so may its whole block.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/cuda_on_host/granule.h"

namespace attnscope::on_host {

class BlockOrder {
 public:
  void begin_launch();
  void begin_block(int threads);

  void fence(int thread, std::uint32_t epoch);
  void atomic(const void* at, int thread, std::uint32_t epoch, std::uint32_t first_epoch_of_block);
  [[nodiscard]] std::uint16_t fences(int thread) const {
    return fences_[static_cast<std::size_t>(thread)];
  }

  /// Whether another block's last write, or its reads, are ordered before what `thread` does now.
  [[nodiscard]] bool knows_write(const Granule& granule, int thread, std::uint32_t epoch) const;
  [[nodiscard]] bool knows_reads(const Granule& granule, int thread, std::uint32_t epoch) const;

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
  [[nodiscard]] bool knows(int thread, std::uint32_t epoch, const Covers& covers) const;

  std::unordered_map<const void*, std::vector<Publication>> published_;
  std::vector<Observation> observed_;
  std::vector<std::uint16_t> fences_;
  std::vector<std::uint32_t> fence_epochs_;
};

}  // namespace attnscope::on_host
