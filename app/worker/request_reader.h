#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads requests on a separate thread, so that cancel, quit and the driver's exit interrupt a
// computation. All other requests are queued.
//
//   RequestReader reader(channel);
//   while (auto request = reader.next()) answer(*request);

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/worker/protocol_channel.h"

namespace attnscope::worker {

struct Request {
  nlohmann::json message;
  std::string malformed;  // why the line is no valid request; then `message` is empty
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
};

class RequestReader {
 public:
  /// Starts reading stdin.
  explicit RequestReader(ProtocolChannel& channel);

  /// Waits for the next request; nothing after quit or the end of stdin, once all short requests
  /// before it are answered. During a long request (heat, ceilings, attend, check, model, score,
  /// inspect), both end the process at once.
  [[nodiscard]] std::optional<Request> next();

 private:
  void read_all();
  void take_line(std::string_view line);
  void cancel_all();
  void stop();

  ProtocolChannel& channel_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Request> waiting_;
  std::shared_ptr<std::atomic<bool>> at_work_;  // the cancel flag of the request being answered
  bool long_work_ = false;
  bool stopped_ = false;
};

}  // namespace attnscope::worker
