#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of a run, one at a time: asked, watched for signs of life, replaced when they end.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/sweep/beacon_file.h"
#include "engine/sweep/worker_process.h"

namespace attnscope {

class WorkerCrew {
 public:
  using Milliseconds = std::chrono::milliseconds;

  WorkerCrew(std::string command, WorkerProcess first, BeaconFile beacon,
             const std::atomic<int>* cancel);

  /// How a request ended.
  struct Answer {
    enum class Kind : std::uint8_t { answered, refused, died, hung, cancelled, no_worker };
    Kind kind = Kind::answered;
    nlohmann::json event;           // answered
    std::string words;              // of what went wrong
    std::optional<int> contender;   // refused, died, hung: the one that ran, from the beacon
    bool killed_by_system = false;  // died of a SIGKILL that was not ours: for want of memory
  };

  /// Sends `request` (starting a worker if none is there) and waits for the event `awaited`; others
  /// go to `on_event`. A worker that neither answers nor moves its beacon for `patience` is killed.
  [[nodiscard]] Answer ask(const nlohmann::json& request, std::string_view awaited,
                           Milliseconds patience,
                           const std::function<void(const nlohmann::json&)>& on_event);
  /// Sends the current worker home: the next request begins in a fresh process.
  void dismiss();
  [[nodiscard]] std::string beacon_path() const { return beacon_.path(); }
  [[nodiscard]] bool cancel_requested() const { return cancel_level() > 0; }

 private:
  [[nodiscard]] int cancel_level() const;
  [[nodiscard]] Answer ended(const WorkerProcess::Ended& end);
  [[nodiscard]] Answer with_suspect(Answer answer) const;
  [[nodiscard]] Answer stopped(Answer::Kind kind, std::string words);

  std::string command_;
  std::optional<WorkerProcess> worker_;
  BeaconFile beacon_;
  const std::atomic<int>* cancel_;
};

}  // namespace attnscope
