// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/heartbeat.h"

#include <utility>

namespace attnscope {

Heartbeat::Heartbeat(std::chrono::milliseconds interval, std::function<void()> beat)
    : thread_([this, interval, beat = std::move(beat)] {
        std::unique_lock lock(mutex_);
        while (!ending_) {
          beat();
          ends_.wait_for(lock, interval, [this] { return ending_; });
        }
      }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

}  // namespace attnscope
