#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The driver's end of the beacon: a small file in a folder of its own, mapped by driver and worker,
// that survives the worker and tells which contender ran when it died.

#include <filesystem>
#include <memory>
#include <string>

#include "engine/sweep/protocol.h"

namespace attnscope {

class BeaconFile {
 public:
  [[nodiscard]] static Result<BeaconFile> make();
  BeaconFile(BeaconFile&& other) noexcept;
  BeaconFile& operator=(BeaconFile&&) = delete;
  ~BeaconFile();

  [[nodiscard]] std::string path() const { return (folder_ / "beacon").string(); }
  [[nodiscard]] protocol::Beacon read() const;
  /// Before each request, so that no earlier heat's contender is blamed.
  void clear();

 private:
  BeaconFile(std::filesystem::path folder, protocol::Beacon* shared);
  std::filesystem::path folder_;
  protocol::Beacon* shared_ = nullptr;
};

}  // namespace attnscope
