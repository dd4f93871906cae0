#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The driver's end of the beacon: a few bytes mapped by driver and worker that survive the worker
// and tell which contender ran when it died. They have no name in any folder, but are reached
// through this process's descriptor: a driver that is killed leaves nothing behind.

#include <string>

#include "engine/heat/protocol.h"

namespace attnscope {

class BeaconFile {
 public:
  [[nodiscard]] static Result<BeaconFile> make();
  BeaconFile(BeaconFile&& other) noexcept;
  BeaconFile& operator=(BeaconFile&&) = delete;
  ~BeaconFile();

  /// What a worker on this machine opens, while this process lives.
  [[nodiscard]] std::string path() const;
  /// Tells it from any other file of that name.
  [[nodiscard]] std::string nonce() const;
  [[nodiscard]] protocol::Beacon read() const;
  /// Before each request, so that no earlier heat's contender is blamed.
  void clear();

 private:
  BeaconFile(int descriptor, protocol::Beacon* shared) : descriptor_(descriptor), shared_(shared) {}
  int descriptor_ = -1;
  protocol::Beacon* shared_ = nullptr;
};

}  // namespace attnscope
