// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/block_order.h"

#include <algorithm>

namespace attnscope::on_host {

void BlockOrder::begin_launch() {
  published_.clear();
}

void BlockOrder::begin_block(int threads) {
  observed_.clear();
  fences_.assign(static_cast<std::size_t>(threads), 0);
  fence_epochs_.assign(static_cast<std::size_t>(threads), 0);
}

void BlockOrder::fence(int thread, std::uint32_t epoch) {
  ++fences_[static_cast<std::size_t>(thread)];
  fence_epochs_[static_cast<std::size_t>(thread)] = epoch;
  for (Observation& seen : observed_) {
    if (seen.fenced_by >= 0 || (seen.thread != thread && seen.epoch >= epoch)) continue;
    seen.fenced_by = thread;
    seen.fence_epoch = epoch;
  }
}

void BlockOrder::atomic(const void* at, int thread, std::uint32_t epoch,
                        std::uint32_t first_epoch_of_block) {
  std::vector<Publication>& all = published_[at];
  for (const Publication& one : all) {
    if (one.first_epoch_of_block != first_epoch_of_block) observed_.push_back({one, thread, epoch});
  }
  all.push_back({first_epoch_of_block, epoch, fence_epochs_[static_cast<std::size_t>(thread)],
                 thread, fences_});
}

template <typename Covers>
bool BlockOrder::knows(int thread, std::uint32_t epoch, const Covers& covers) const {
  return std::ranges::any_of(observed_, [&](const Observation& seen) {
    const bool usable =
        seen.fenced_by >= 0 && (seen.fenced_by == thread || seen.fence_epoch < epoch);
    return usable && covers(seen.published);
  });
}

bool BlockOrder::knows_write(const Granule& granule, int thread, std::uint32_t epoch) const {
  return knows(thread, epoch, [&](const Publication& one) {
    const std::uint32_t at = granule.write_epoch;
    if (at < one.first_epoch_of_block || at > one.epoch) return false;
    const bool by_publisher = granule.writer == one.thread;
    const bool fenced = granule.writer_fences < one.fences[granule.writer];
    return at < one.fence_epoch || (fenced && (by_publisher || at < one.epoch)) ||
           (granule.by_atomic && by_publisher && at == one.epoch);
  });
}

bool BlockOrder::knows_reads(const Granule& granule, int thread, std::uint32_t epoch) const {
  return !granule.read_by_many_blocks && knows(thread, epoch, [&](const Publication& one) {
    const std::uint32_t at = granule.read_epoch;
    return at >= one.first_epoch_of_block &&
           (at < one.epoch || (at == one.epoch && granule.reader == one.thread));
  });
}

}  // namespace attnscope::on_host
