// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/turn_holder.h"

#include <poll.h>
#include <unistd.h>

#include <random>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/worker/ask.h"
#include "engine/worker/turn.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds between_glances{100};
// A waiting worker sends an event every 2 s.
constexpr milliseconds longest_silence = std::chrono::minutes(1);
constexpr milliseconds before_another_try = std::chrono::seconds(1);
// In a row, for a worker that has waited before.
constexpr int most_tries = 300;

/// "A, B and 3 more".
std::string list_in_words(const std::vector<Measurement>& measured) {
  constexpr std::size_t most_named = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(measured.size(), most_named); ++i)
    text.append(text.empty() ? "" : ", ").append(in_words(measured[i]));
  if (measured.size() > most_named)
    text += fmt::format(" and {} more", measured.size() - most_named);
  return text;
}

}  // namespace

std::string new_driver_number() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

TurnHolder::TurnHolder(Measuring measuring)
    : measuring_(std::move(measuring)), driver_(new_driver_number()) {}

bool TurnHolder::hold(const Listener& listener) {
  has_answered_ = false;
  for (int restarts = 0; !worker_ && is_possible_; ++restarts) {
    if (listener.is_given_up()) return false;
    const Ending ending = ask(listener);
    if (ending == Ending::held) return true;
    worker_.reset();
    if (ending == Ending::given_up) return false;
    is_possible_ = ending != Ending::not_possible;
    const bool tries_again = is_possible_ && has_answered_ && restarts < most_tries;
    if (!tries_again && !std::exchange(warned_, true)) {
      listener.on_warning(fmt::format(
          "cannot coordinate with other measurements: {}; measuring without the lock", words_));
    }
    if (!tries_again) return true;
    const auto until = Clock::now() + before_another_try;
    while (Clock::now() < until) {
      if (listener.is_given_up()) return false;
      poll(nullptr, 0, static_cast<int>(between_glances.count()));
    }
  }
  return true;
}

TurnHolder::Ending TurnHolder::ask(const Listener& listener) {
  auto started = WorkerProcess::start_ungreeted(measuring_.worker_command);
  if (!started) {
    words_ = started.error().message;
    return Ending::ended;
  }
  worker_.emplace(std::move(*started));
  // The first read detects a worker that has died.
  static_cast<void>(send_request(*worker_, protocol::HoldRequest{.devices = measuring_.devices,
                                                                 .what = measuring_.what,
                                                                 .process = getpid(),
                                                                 .host = host_name(),
                                                                 .now = measuring_.now,
                                                                 .driver = driver_ + "-turn"}));
  const Ending ending = wait(listener);
  if (ending == Ending::given_up) worker_->kill();  // it may not respond
  return ending;
}

TurnHolder::Ending TurnHolder::wait(const Listener& listener) {
  std::optional<std::string> waited_for;
  auto last_sign = Clock::now();
  while (true) {
    if (listener.is_given_up()) return Ending::given_up;
    const WorkerProcess::Read read = worker_->read(between_glances);
    if (read.wait == WorkerProcess::Wait::ended) {
      words_ = "the process that holds the lock ended: " + read.ended.words;
      return Ending::ended;
    }
    if (Clock::now() - last_sign >= longest_silence) {
      worker_->kill();
      words_ = "the process that holds the lock gave no answer within 60 s";
      return has_answered_ ? Ending::ended : Ending::not_possible;
    }
    if (read.wait == WorkerProcess::Wait::timeout) continue;
    const std::string kind = text_field(read.event, "event");
    if (kind == protocol::WaitingForTurn::name) {
      has_answered_ = true;
      last_sign = Clock::now();  // other events do not show that it waits
      const auto waiting = protocol::read_message<protocol::WaitingForTurn>(read.event);
      std::string words = in_words(waiting && waiting->by ? *waiting->by : Measurement());
      if (words != waited_for) listener.on_waiting(words);
      waited_for = std::move(words);
    } else if (kind == protocol::TurnHeld::name || kind == protocol::RequestFailed::name) {
      has_answered_ = true;
      const bool held = kind == protocol::TurnHeld::name;
      words_ = in_a_sentence(text_field(read.event, held ? "problem" : "message"), longest_words);
      if (held && words_.empty()) return Ending::held;
      if (words_.empty()) words_ = "the measuring process gave no reason";
      return Ending::not_possible;
    }
  }
}

std::string TurnHolder::others(const std::function<bool()>& is_given_up) {
  if (!worker_) return {};
  static_cast<void>(send_request(*worker_, protocol::OthersRequest()));
  const auto until = Clock::now() + longest_silence;
  while (Clock::now() < until) {
    const WorkerProcess::Read read = worker_->read(between_glances);
    if (read.wait == WorkerProcess::Wait::ended) break;
    if (read.wait == WorkerProcess::Wait::event &&
        text_field(read.event, "event") == protocol::OtherMeasurements::name) {
      const auto others = protocol::read_message<protocol::OtherMeasurements>(read.event);
      return others ? list_in_words(others->measured) : std::string();
    }
    if (is_given_up()) return {};
  }
  worker_->kill();
  worker_.reset();
  return {};
}

}  // namespace attnscope
