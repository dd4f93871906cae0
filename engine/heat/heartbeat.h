#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Calls something at once and then every few seconds, from a thread of its own, until it goes. A
// worker that the driver cannot look at tells so that it lives, and what it is doing.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace attnscope {

class Heartbeat {
 public:
  Heartbeat(std::chrono::milliseconds interval, std::function<void()> beat);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();  // no beat comes afterwards

 private:
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace attnscope
