#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's side of the protocol: a channel for events and a reader of requests. Libraries print
// to stdout, so the channel takes the original stdout for itself and redirects their output to
// stderr. Requests are read on a separate thread, so that cancel, quit and the driver's exit
// interrupt a computation; all other requests are queued.
//
//   ProtocolChannel channel;
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
#include <string_view>

namespace attnscope::worker {

class ProtocolChannel {
 public:
  /// Redirects stdout. Throws std::system_error if no file descriptors are left.
  ProtocolChannel();

  /// Writes one whole line; ends the process if the pipe has no reader.
  void send(const nlohmann::json& event);
  void send_error(const std::string& message);
  /// Writes a blank that precedes the next line: it shows a waiting reader that an answer is
  /// coming.
  void send_sign_of_life();

  /// Ends the process at once, independent of other threads, but never in the middle of a line.
  [[noreturn]] void end_process(int exit_code);

 private:
  void write_all(const std::string& text);

  int descriptor_ = -1;
  std::mutex writing_;
};

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
