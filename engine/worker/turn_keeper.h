#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's side of turns: answers the requests `hold` and `others` (docs/protocol.md). Its
// turns end with the process.

#include <functional>
#include <string>
#include <vector>

#include "engine/pattern/axes.h"
#include "engine/worker/machine_messages.h"
#include "engine/worker/turn.h"

namespace attnscope {

class TurnKeeper {
 public:
  using Send = std::function<void(const nlohmann::json&)>;
  /// `name_of_lock`: returns a device's name among the machine's locks, "cpu" or
  /// "cuda-GPU-1c0ffee5".
  explicit TurnKeeper(std::function<std::string(DeviceKind)> name_of_lock)
      : name_of_lock_(std::move(name_of_lock)) {}

  /// Waits for the turns of a request `hold`, sends `waiting` meanwhile, then `held`. Gives up its
  /// places in the queue when `is_cancelled` returns true.
  void hold(const protocol::HoldRequest& request, const Send& send,
            const std::function<bool()>& is_cancelled);
  void others(const Send& send);

 private:
  [[nodiscard]] Status wait(Turn& turn, DeviceKind device, const Send& send,
                            const std::function<bool()>& is_cancelled) const;

  std::function<std::string(DeviceKind)> name_of_lock_;
  std::vector<Turn> turns_;
};

}  // namespace attnscope
