#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tells the driver which contender runs, through a mapped file and without a system call, so that
// the one that kills the worker is known. A worker on another machine keeps it to itself, and a
// heartbeat tells of it.

#include <string>

#include "engine/heat/protocol.h"

namespace attnscope::measure {

class BeaconFile {
 public:
  /// Lights the driver's beacon where it can be reached and bears the number, else `own` (null: one
  /// that nobody sees).
  explicit BeaconFile(const std::string& path, const std::string& nonce = {},
                      protocol::Beacon* own = nullptr);
  BeaconFile(const BeaconFile&) = delete;
  BeaconFile& operator=(const BeaconFile&) = delete;
  ~BeaconFile();

  /// Before each call into a contender.
  void calling(int contender) const;
  /// Nobody runs.
  void idle() const;
  [[nodiscard]] bool is_shared() const { return shared_ != nullptr; }
  [[nodiscard]] protocol::Beacon read() const;
  /// Stays as it is when the object ends: the process ends because of who ran last.
  void leave_lit() { leaves_lit_ = true; }

 private:
  protocol::Beacon unseen_;  // takes the stores when there is nowhere else
  protocol::Beacon* shared_ = nullptr;
  protocol::Beacon* beacon_ = &unseen_;
  bool leaves_lit_ = false;
};

}  // namespace attnscope::measure
