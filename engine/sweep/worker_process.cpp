// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/worker_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "attnscope/build_info.h"
#include "engine/sweep/child_process.h"
#include "engine/sweep/protocol.h"
#include "kernels/plan/in_a_sentence.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds writing_patience{10'000};
constexpr milliseconds quitting_patience{2'000};

std::string excerpt(std::string_view line) {
  constexpr std::size_t shown = 200;
  return in_a_sentence(line, shown);
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("signal {} (SIG{})", number, name)
                         : fmt::format("signal {}", number);
}

std::string text_of(const json& message, const char* field) {
  const auto found = message.find(field);
  if (found == message.end()) return "none";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

Status check_versions(const json& hello, const std::string& command) {
  const std::string own_protocol = std::to_string(protocol::version);
  if (text_of(hello, "protocol") != own_protocol) {
    return fail(
        "the measuring process '{}' speaks protocol {}, this program protocol {}: build both from "
        "one version, or name the right one in ATTNSCOPE_WORKER or with --worker",
        command, text_of(hello, "protocol"), own_protocol);
  }
  if (text_of(hello, "version") != ATTNSCOPE_VERSION) {
    return fail(
        "the measuring process '{}' is version {}, this program version {}: build both from one "
        "version, or name the right one in ATTNSCOPE_WORKER or with --worker",
        command, text_of(hello, "version"), ATTNSCOPE_VERSION);
  }
  return {};
}

}  // namespace

struct WorkerProcess::State {
  explicit State(ChildProcess started) : child(std::move(started)) {}

  ChildProcess child;
  json hello;
  std::optional<Ended> ended;  // the words of an end that is already known

  Read end(const std::string& before = {});
};

// Collects how the process ended; one that closed its output but lives on is killed.
WorkerProcess::Read WorkerProcess::State::end(const std::string& before) {
  if (!ended) {
    const bool by_itself = child.wait_for_end(quitting_patience).has_value();
    if (!by_itself) child.kill();
    Ended now;
    const int status = child.end().value_or(0);
    if (WIFSIGNALED(status)) {
      now.signal = WTERMSIG(status);
      now.words = by_itself ? "killed by " + signal_name(now.signal)
                            : std::string("it closed its output and was ended");
    } else {
      now.exit_code = WEXITSTATUS(status);
      now.words = fmt::format("it ended with exit code {}", now.exit_code);
    }
    if (!before.empty() || !by_itself)
      now.signal = 0;  // our own signal tells nothing of the worker
    if (!before.empty()) now.words = before;
    if (!child.last_error_line().empty()) {
      now.words += fmt::format("; its last words: {}", child.last_error_line());
    }
    ended = std::move(now);
  }
  return {.wait = Wait::ended, .event = {}, .ended = *ended};
}

WorkerProcess::WorkerProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
WorkerProcess::WorkerProcess(WorkerProcess&&) noexcept = default;

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

WorkerProcess::~WorkerProcess() {
  if (!state_ || state_->ended) return;
  ChildProcess& child = state_->child;
  if (child.end()) return;
  static_cast<void>(child.write(protocol::write_line({{"request", "quit"}}), milliseconds(100)));
  child.close_input();
  if (!child.wait_for_end(quitting_patience)) child.kill();
}

Result<WorkerProcess> WorkerProcess::start(const std::string& command, milliseconds patience) {
  const std::string program = command.empty() ? default_worker() : command;
  auto child = ChildProcess::start(program);
  if (!child) return tl::unexpected(child.error());
  WorkerProcess worker(std::make_unique<State>(std::move(*child)));
  const Status sent = worker.send(
      {{"request", "hello"}, {"protocol", protocol::version}, {"version", ATTNSCOPE_VERSION}});

  const auto deadline = Clock::now() + patience;
  Read answer;
  do {  // a signal may cut one wait short
    answer = worker.read(std::chrono::ceil<milliseconds>(deadline - Clock::now()));
  } while (answer.wait == Wait::timeout && Clock::now() < deadline);

  if (answer.wait == Wait::timeout) {
    worker.kill();
    return fail("the measuring process '{}' gave no answer within {} s", program,
                std::chrono::duration<double>(patience).count());
  }
  if (answer.wait == Wait::ended) {
    return fail("the measuring process '{}' did not start: {}", program, answer.ended.words);
  }
  if (text_of(answer.event, "event") == "error") {
    return fail("the measuring process '{}' refused to start: {}", program,
                text_of(answer.event, "message"));
  }
  if (text_of(answer.event, "event") != "hello") {
    return fail("'{}' is not a measuring process of this program: it greeted with {}", program,
                excerpt(answer.event.dump()));
  }
  if (Status same = check_versions(answer.event, program); !same) {
    return tl::unexpected(same.error());
  }
  worker.state_->hello = std::move(answer.event);
  return worker;
}

const json& WorkerProcess::hello() const {
  return state_->hello;
}

Status WorkerProcess::send(const json& request) {
  if (state_->child.write(protocol::write_line(request), writing_patience)) return {};
  return fail("the measuring process takes no more requests");
}

WorkerProcess::Read WorkerProcess::read(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  ChildProcess& child = state_->child;
  for (bool looked = false;; looked = true) {
    if (const auto line = child.take_line()) {
      auto event = protocol::parse_line(*line);
      if (event && event->contains("event")) {
        return {.wait = Wait::event, .event = std::move(*event), .ended = {}};
      }
      child.kill();
      return state_->end("it sent a line that is not of the protocol: " + excerpt(*line));
    }
    if (child.is_overlong()) {
      child.kill();
      return state_->end("it sent a line of more than 256 MiB, which is not of the protocol");
    }
    // Ended before the last look at its output: nothing more can come.
    const bool gone = child.end().has_value();
    if (child.output_ended()) return state_->end();
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (!gone && looked && left <= milliseconds(0)) return {};
    child.wait_for_news(gone ? milliseconds(0) : std::max(left, milliseconds(0)));
    if (gone && !child.has_line()) return state_->end();
  }
}

void WorkerProcess::kill() {
  state_->child.kill();
  state_->end("it was ended by this program");
}

int WorkerProcess::pid() const {
  return static_cast<int>(state_->child.pid());
}

std::string default_worker() {
  if (const char* named = std::getenv("ATTNSCOPE_WORKER"); named != nullptr && *named != '\0') {
    return named;
  }
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "attnscope-worker" : (self.parent_path() / "attnscope-worker").string();
}

}  // namespace attnscope
