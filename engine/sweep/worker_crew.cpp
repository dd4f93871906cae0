// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/worker_crew.h"

#include <csignal>
#include <utility>

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// How often cancel flag and beacon are looked at; a worker's event is answered at once.
constexpr std::chrono::milliseconds glance{100};
constexpr std::chrono::milliseconds cancel_patience{2'000};

std::string text_field(const json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

WorkerCrew::WorkerCrew(std::string command, WorkerProcess first, BeaconFile beacon,
                       const std::atomic<int>* cancel)
    : command_(std::move(command)),
      worker_(std::move(first)),
      beacon_(std::move(beacon)),
      cancel_(cancel) {}

int WorkerCrew::cancel_level() const {
  return cancel_ == nullptr ? 0 : cancel_->load(std::memory_order_relaxed);
}

void WorkerCrew::dismiss() {
  worker_.reset();
}

WorkerCrew::Answer WorkerCrew::with_suspect(Answer answer) const {
  const int contender = beacon_.read().contender;
  if (contender >= 0) answer.contender = contender;
  return answer;
}

WorkerCrew::Answer WorkerCrew::ended(const WorkerProcess::Ended& end) {
  worker_.reset();
  Answer answer{.kind = Answer::Kind::died, .event = {}, .words = end.words, .contender = {}};
  answer.killed_by_system = end.signal == SIGKILL;
  return with_suspect(std::move(answer));
}

WorkerCrew::Answer WorkerCrew::stopped(Answer::Kind kind, std::string words) {
  worker_->kill();
  worker_.reset();
  return with_suspect({.kind = kind, .event = {}, .words = std::move(words), .contender = {}});
}

WorkerCrew::Answer WorkerCrew::ask(const json& request, std::string_view awaited,
                                   Milliseconds patience,
                                   const std::function<void(const json&)>& on_event) {
  if (!worker_) {
    auto fresh = WorkerProcess::start(command_);
    if (!fresh) {
      return {.kind = Answer::Kind::no_worker,
              .event = {},
              .words = fresh.error().message,
              .contender = {}};
    }
    worker_.emplace(std::move(*fresh));
  }
  beacon_.clear();
  // One that died between two requests is found out by the first read.
  static_cast<void>(worker_->send(request));

  auto last_sign = Clock::now();
  std::uint32_t calls = beacon_.read().calls;
  std::optional<Clock::time_point> cancel_deadline;
  while (true) {
    if (cancel_level() > 0 && !cancel_deadline) {
      static_cast<void>(worker_->send({{"request", "cancel"}}));
      cancel_deadline = Clock::now() + cancel_patience;
    }
    if (cancel_level() > 1 || (cancel_deadline && Clock::now() > *cancel_deadline)) {
      return stopped(Answer::Kind::cancelled, "cancelled");
    }
    WorkerProcess::Read read = worker_->read(glance);
    if (read.wait == WorkerProcess::Wait::ended) {
      Answer answer = ended(read.ended);
      if (cancel_deadline) answer.kind = Answer::Kind::cancelled;
      return answer;
    }
    if (read.wait == WorkerProcess::Wait::event) {
      last_sign = Clock::now();
      const std::string kind = text_field(read.event, "event");
      if (kind != awaited && kind != "error") {
        on_event(read.event);
        continue;
      }
      if (cancel_deadline)
        return {.kind = Answer::Kind::cancelled, .event = {}, .words = {}, .contender = {}};
      if (kind == awaited) {
        return {.kind = Answer::Kind::answered,
                .event = std::move(read.event),
                .words = {},
                .contender = {}};
      }
      return with_suspect({.kind = Answer::Kind::refused,
                           .event = {},
                           .words = text_field(read.event, "message"),
                           .contender = {}});
    }
    if (const std::uint32_t now = beacon_.read().calls; now != calls) {
      calls = now;
      last_sign = Clock::now();
    }
    if (Clock::now() - last_sign > patience) {
      return stopped(Answer::Kind::hung,
                     fmt::format("it showed no sign of life for {:g} s and was ended",
                                 std::chrono::duration<double>(patience).count()));
    }
  }
}

}  // namespace attnscope
