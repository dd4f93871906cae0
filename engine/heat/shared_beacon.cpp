// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/shared_beacon.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnscope {

using protocol::Beacon;

std::string nonce_text(std::uint64_t nonce) {
  return fmt::format("{:016x}", nonce);
}

Beacon* map_beacon(const std::string& path, const std::string& nonce) {
  if (path.empty() || nonce.empty()) return nullptr;
  // On another machine the path may be anybody's: a pipe must not block, a terminal not be taken.
  const int file = open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat found {};
  const bool plausible =
      fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == sizeof(Beacon);
  void* mapped = plausible
                     ? mmap(nullptr, sizeof(Beacon), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
  close(file);
  if (mapped == MAP_FAILED) return nullptr;
  auto* beacon = static_cast<Beacon*>(mapped);
  if (nonce_text(beacon->nonce) == nonce) return beacon;
  unmap_beacon(beacon);
  return nullptr;
}

void unmap_beacon(Beacon* shared) {
  if (shared != nullptr) munmap(shared, sizeof(Beacon));
}

}  // namespace attnscope
