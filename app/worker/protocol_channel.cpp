// SPDX-License-Identifier: Apache-2.0
#include "app/worker/protocol_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>

#include "engine/worker/machine_messages.h"

namespace attnscope::worker {
namespace {

constexpr int lowest_private_descriptor = 100;  // for code that assumes 0, 1, 2

}  // namespace

ProtocolChannel::ProtocolChannel()
    : descriptor_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, lowest_private_descriptor)) {
  // The limit on open files may be lower.
  if (descriptor_ < 0) descriptor_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (descriptor_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw std::system_error(errno, std::generic_category(), "stdout cannot be moved");
  // Redirected output should appear line by line, as stderr does.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

void ProtocolChannel::send(const nlohmann::json& event) {
  const std::string line = protocol::write_line(event);
  write_all(line);
}

void ProtocolChannel::send_sign_of_life() {
  write_all(" ");
}

void ProtocolChannel::write_all(const std::string& text) {
  const std::lock_guard lock(writing_);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(descriptor_, text.data() + written, text.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      _exit(0);  // the driver has exited
    }
  }
}

void ProtocolChannel::send_error(const std::string& message) {
  send(protocol::as_event(protocol::RequestFailed{.message = message, .contender = {}}));
}

void ProtocolChannel::end_process(int exit_code) {
  const std::lock_guard lock(writing_);
  _exit(exit_code);
}

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
