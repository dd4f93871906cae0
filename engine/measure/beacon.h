#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tells the driver which contender runs, through a mapped file and without a system call, so that
// the one that kills the worker is known.

#include <string>

#include "engine/sweep/protocol.h"

namespace attnscope::measure {

class BeaconFile {
 public:
  /// An empty path lights no beacon. Throws std::runtime_error when the file cannot be mapped.
  explicit BeaconFile(const std::string& path);
  BeaconFile(const BeaconFile&) = delete;
  BeaconFile& operator=(const BeaconFile&) = delete;
  ~BeaconFile();

  /// Before each call into a contender.
  void calling(int contender) const;
  /// Nobody runs.
  void idle() const;
  /// Stays as it is when the object ends: the process ends because of who ran last.
  void leave_lit() { leaves_lit_ = true; }

 private:
  protocol::Beacon unseen_;  // takes the stores when there is no file
  protocol::Beacon* beacon_ = &unseen_;
  bool leaves_lit_ = false;
};

}  // namespace attnscope::measure
