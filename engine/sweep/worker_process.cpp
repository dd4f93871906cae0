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
#include "engine/heat/protocol.h"
#include "engine/sweep/child_process.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds writing_patience{30'000};
constexpr milliseconds quitting_patience{2'000};

std::string excerpt(std::string_view line) {
  constexpr std::size_t shown = 200;
  return in_a_sentence(line, shown);
}

std::optional<int> number_of(const json& message, const char* field) {
  const auto found = message.find(field);
  if (found == message.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
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
  json last_event;             // "ended", once it has come
  std::optional<Ended> ended;  // the words of an end that is already known

  Read end(const std::string& before = {});
};

// Collects how the process ended; one that closed its output but lives on is killed. What its own
// last event says counts more than how the program ended that was started here, which may be a
// connection to it.
WorkerProcess::Read WorkerProcess::State::end(const std::string& before) {
  if (!ended) {
    const bool by_itself = child.wait_for_end(quitting_patience).has_value();
    if (!by_itself) child.kill();
    Ended now;
    const int status = child.end().value_or(0);
    now.told = last_event.is_object();
    now.signal = now.told ? number_of(last_event, "signal").value_or(0)
                          : (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    now.contender = now.told ? number_of(last_event, "contender") : std::nullopt;
    const bool our_doing = !by_itself && !now.told;
    if (our_doing) {
      now.words = "it closed its output and was ended";
    } else if (now.signal != 0) {
      now.words = "killed by " + signal_name(now.signal);
    } else {
      now.exit_code =
          now.told ? number_of(last_event, "exit_code").value_or(-1) : WEXITSTATUS(status);
      now.words = fmt::format("it ended with exit code {}", now.exit_code);
    }
    if (!before.empty() || our_doing) now.signal = 0;  // our own signal tells nothing of the worker
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
  auto worker = start(command, StartOptions{.patience = patience});
  if (!worker) return fail("{}", worker.error().message);
  return std::move(*worker);
}

tl::expected<WorkerProcess, StartFailure> WorkerProcess::start(const std::string& command,
                                                               const StartOptions& how) {
  const auto failure = [](std::string message, bool may_pass = false) {
    return tl::unexpected(StartFailure{.message = std::move(message), .may_pass = may_pass});
  };
  const std::string program = command.empty() ? default_worker() : command;
  const auto cancelled = [&] { return how.cancel != nullptr && how.cancel->load() > 0; };
  const auto cancellation = [&] {
    return tl::unexpected(StartFailure{
        .message = fmt::format("cancelled while the measuring process '{}' was started", program),
        .cancelled = true});
  };
  if (cancelled()) return cancellation();
  auto child = ChildProcess::start(program);
  if (!child) return failure(child.error().message);
  WorkerProcess worker(std::make_unique<State>(std::move(*child)));
  static_cast<void>(worker.send({{"request", "hello"},
                                 {"protocol", protocol::version},
                                 {"version", ATTNSCOPE_VERSION},
                                 {"beacon", how.beacon},
                                 {"beacon_nonce", how.beacon_nonce}}));
  Read answer = worker.read_greeting(how.patience, cancelled);
  if (answer.wait == Wait::timeout) {
    worker.kill();
    if (cancelled()) return cancellation();
    return failure(fmt::format("the measuring process '{}' gave no answer within {} s", program,
                               std::chrono::duration<double>(how.patience).count()),
                   /*may_pass=*/true);
  }
  if (answer.wait == Wait::ended) {
    return failure(
        fmt::format("the measuring process '{}' did not start: {}", program, answer.ended.words),
        /*may_pass=*/true);
  }
  if (text_of(answer.event, "event") == "error") {
    return failure(fmt::format("the measuring process '{}' refused to start: {}", program,
                               text_of(answer.event, "message")));
  }
  if (text_of(answer.event, "event") != "hello") {
    return failure(
        fmt::format("'{}' is not a measuring process of this program: it greeted with {}", program,
                    excerpt(answer.event.dump())));
  }
  if (Status same = check_versions(answer.event, program); !same) {
    return failure(same.error().message);
  }
  worker.state_->hello = std::move(answer.event);
  return worker;
}

// A greeting that arrives byte by byte is waited for.
WorkerProcess::Read WorkerProcess::read_greeting(milliseconds patience,
                                                 const std::function<bool()>& cancelled) {
  constexpr milliseconds glance{200};
  auto deadline = Clock::now() + patience;
  std::size_t pending = 0;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    Read answer = read(std::clamp(left, milliseconds(0), glance));
    if (answer.wait != Wait::timeout || cancelled()) return answer;
    if (pending_bytes() > pending) {
      pending = pending_bytes();
      deadline = Clock::now() + patience;
    }
    if (Clock::now() >= deadline) return answer;
  }
}

bool WorkerProcess::shares_beacon() const {
  const auto found = state_->hello.find("shares_beacon");
  return found == state_->hello.end() || *found != false;
}

bool WorkerProcess::tells_end() const {
  const auto found = state_->hello.find("tells_end");
  return found != state_->hello.end() && *found == true;
}

std::size_t WorkerProcess::pending_bytes() const {
  return state_->child.pending_bytes();
}

const json& WorkerProcess::hello() const {
  return state_->hello;
}

Status WorkerProcess::send(const json& request) {
  // Whatever it has started may hold its input open a moment longer than itself.
  if (!state_->ended && state_->child.write(protocol::write_line(request), writing_patience))
    return {};
  return fail("the measuring process takes no more requests");
}

WorkerProcess::Read WorkerProcess::read(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  ChildProcess& child = state_->child;
  for (bool looked = false;; looked = true) {
    if (const auto line = child.take_line()) {
      if (is_blank(*line)) continue;
      auto event = protocol::parse_line(*line);
      if (event && text_of(*event, "event") == "ended") {
        state_->last_event = std::move(*event);
        continue;
      }
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
