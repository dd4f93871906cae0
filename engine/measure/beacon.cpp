// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/beacon.h"

#include <atomic>

#include "engine/heat/shared_beacon.h"

namespace attnscope::measure {

BeaconFile::BeaconFile(const std::string& path, const std::string& nonce, protocol::Beacon* own)
    : shared_(map_beacon(path, nonce)) {
  if (shared_ != nullptr)
    beacon_ = shared_;
  else if (own != nullptr)
    beacon_ = own;
  idle();
}

BeaconFile::~BeaconFile() {
  if (!leaves_lit_) idle();
  unmap_beacon(shared_);
}

void BeaconFile::calling(int contender) const {
  std::atomic_ref(beacon_->contender).store(contender, std::memory_order_relaxed);
  std::atomic_ref(beacon_->calls).fetch_add(1, std::memory_order_relaxed);
}

void BeaconFile::idle() const {
  std::atomic_ref(beacon_->contender).store(-1, std::memory_order_relaxed);
}

protocol::Beacon BeaconFile::read() const {
  return {.contender = std::atomic_ref(beacon_->contender).load(std::memory_order_relaxed),
          .calls = std::atomic_ref(beacon_->calls).load(std::memory_order_relaxed),
          .nonce = beacon_->nonce};
}

}  // namespace attnscope::measure
