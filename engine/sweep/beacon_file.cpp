// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/beacon_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "engine/heat/shared_beacon.h"

namespace attnscope {

using protocol::Beacon;

Result<BeaconFile> BeaconFile::make() {
  const int descriptor = memfd_create("attnscope-beacon", MFD_CLOEXEC);
  const bool sized = descriptor >= 0 && ftruncate(descriptor, sizeof(Beacon)) == 0;
  void* shared =
      sized ? mmap(nullptr, sizeof(Beacon), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
            : MAP_FAILED;
  const int error = errno;
  if (shared == MAP_FAILED) {
    if (descriptor >= 0) close(descriptor);
    return fail(
        "no memory could be shared with the measuring process: {}; close some programs or raise "
        "the limit on open files (ulimit -n)",
        std::strerror(error));
  }
  std::random_device entropy;
  const std::uint64_t nonce = (std::uint64_t{entropy()} << 32) | entropy();
  return BeaconFile(descriptor, new (shared) Beacon{.nonce = nonce});
}

BeaconFile::BeaconFile(BeaconFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      shared_(std::exchange(other.shared_, nullptr)) {}

BeaconFile::~BeaconFile() {
  unmap_beacon(shared_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::string BeaconFile::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

std::string BeaconFile::nonce() const {
  return nonce_text(shared_->nonce);
}

Beacon BeaconFile::read() const {
  return {.contender = std::atomic_ref(shared_->contender).load(std::memory_order_acquire),
          .calls = std::atomic_ref(shared_->calls).load(std::memory_order_acquire),
          .nonce = shared_->nonce};
}

void BeaconFile::clear() {
  std::atomic_ref(shared_->contender).store(-1, std::memory_order_release);
  std::atomic_ref(shared_->calls).store(0, std::memory_order_release);
}

}  // namespace attnscope
