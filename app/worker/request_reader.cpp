// SPDX-License-Identifier: Apache-2.0
#include "app/worker/request_reader.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "engine/worker/machine_messages.h"

namespace attnscope::worker {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 20;  // limit for invalid input

std::string kind_of(const nlohmann::json& message) {
  const auto kind = message.find("request");
  return kind != message.end() && kind->is_string() ? kind->get<std::string>() : std::string();
}

/// All requests except queries about the worker itself may compute for minutes.
bool is_long(const Request& request) {
  const std::string kind = kind_of(request.message);
  return kind != protocol::HelloRequest::name && kind != protocol::DescribeRequest::name;
}

}  // namespace

RequestReader::RequestReader(ProtocolChannel& channel) : channel_(channel) {
  // Detached: it blocks in read() until the process exits.
  std::thread([this] { read_all(); }).detach();
}

std::optional<Request> RequestReader::next() {
  std::unique_lock lock(mutex_);
  at_work_.reset();
  long_work_ = false;
  while (true) {
    news_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    if (stopped_ && is_long(request)) continue;  // the driver no longer waits for it
    at_work_ = request.cancelled;
    long_work_ = is_long(request);
    return request;
  }
}

void RequestReader::read_all() {
  std::string pending;
  bool overlong = false;  // the rest of a line that was discarded
  std::array<char, 1 << 16> chunk{};
  while (true) {
    const ssize_t count = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    std::string_view news(chunk.data(), static_cast<std::size_t>(count));
    while (!news.empty()) {
      const std::size_t end = news.find('\n');
      if (!overlong) pending.append(news.substr(0, end));
      if (pending.size() > longest_line) {
        pending.clear();
        overlong = true;
      }
      if (end == std::string_view::npos) break;
      news.remove_prefix(end + 1);
      if (overlong) {
        channel_.send_error("a request was longer than 64 MiB and was not read");
      } else {
        take_line(pending);
      }
      pending.clear();
      overlong = false;
    }
  }
  stop();
}

void RequestReader::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  auto message = protocol::parse_line(line);
  Request request;
  if (message) {
    request.message = std::move(*message);
  } else {
    request.malformed = message.error().message;
  }
  const std::string kind = kind_of(request.message);
  if (kind == protocol::CancelRequest::name) return cancel_all();
  if (kind == protocol::QuitRequest::name) return stop();
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) waiting_.push_back(std::move(request));
  }
  news_.notify_one();
}

void RequestReader::cancel_all() {
  const std::lock_guard lock(mutex_);
  if (at_work_) *at_work_ = true;
  for (const Request& request : waiting_) *request.cancelled = true;
}

void RequestReader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (long_work_) channel_.end_process(0);
  }
  news_.notify_one();
}

}  // namespace attnscope::worker
