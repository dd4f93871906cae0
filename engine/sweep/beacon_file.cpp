// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/beacon_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace attnscope {

using protocol::Beacon;

Result<BeaconFile> BeaconFile::make() {
  std::error_code failed;
  std::filesystem::path temporary = std::filesystem::temp_directory_path(failed);
  if (failed) temporary = "/tmp";
  std::string folder = (temporary / "attnscope-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return fail("no folder could be made in {}: {}; set TMPDIR to a place that can be written",
                temporary.string(), std::strerror(errno));
  }
  const std::string file = folder + "/beacon";
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool sized = descriptor >= 0 && ftruncate(descriptor, sizeof(Beacon)) == 0;
  void* shared =
      sized ? mmap(nullptr, sizeof(Beacon), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
            : MAP_FAILED;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (shared == MAP_FAILED) {
    std::filesystem::remove_all(folder, failed);
    return fail("the file {} could not be made: {}; set TMPDIR to a place that can be written",
                file, std::strerror(error));
  }
  BeaconFile beacon(folder, new (shared) Beacon);
  return beacon;
}

BeaconFile::BeaconFile(std::filesystem::path folder, Beacon* shared)
    : folder_(std::move(folder)), shared_(shared) {}

BeaconFile::BeaconFile(BeaconFile&& other) noexcept
    : folder_(std::move(other.folder_)), shared_(std::exchange(other.shared_, nullptr)) {}

BeaconFile::~BeaconFile() {
  if (shared_ == nullptr) return;
  munmap(shared_, sizeof(Beacon));
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Beacon BeaconFile::read() const {
  return {.contender = std::atomic_ref(shared_->contender).load(std::memory_order_acquire),
          .calls = std::atomic_ref(shared_->calls).load(std::memory_order_acquire)};
}

void BeaconFile::clear() {
  std::atomic_ref(shared_->contender).store(-1, std::memory_order_release);
  std::atomic_ref(shared_->calls).store(0, std::memory_order_release);
}

}  // namespace attnscope
