// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/beacon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace attnscope::measure {

BeaconFile::BeaconFile(const std::string& path) {
  if (path.empty()) return;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* mapped = MAP_FAILED;
  int error = errno;
  if (file >= 0) {
    if (ftruncate(file, sizeof(protocol::Beacon)) == 0)
      mapped = mmap(nullptr, sizeof(protocol::Beacon), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = errno;
    close(file);
  }
  if (mapped == MAP_FAILED)
    throw std::runtime_error(
        fmt::format("the beacon file '{}' cannot be mapped: {}", path, std::strerror(error)));
  beacon_ = static_cast<protocol::Beacon*>(mapped);
  idle();
}

BeaconFile::~BeaconFile() {
  if (beacon_ == &unseen_) return;
  if (!leaves_lit_) idle();
  munmap(beacon_, sizeof(protocol::Beacon));
}

void BeaconFile::calling(int contender) const {
  std::atomic_ref(beacon_->contender).store(contender, std::memory_order_relaxed);
  std::atomic_ref(beacon_->calls).fetch_add(1, std::memory_order_relaxed);
}

void BeaconFile::idle() const {
  std::atomic_ref(beacon_->contender).store(-1, std::memory_order_relaxed);
}

}  // namespace attnscope::measure
