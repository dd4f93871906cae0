// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/worker_pool.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/sentences.h"
#include "engine/worker/turn_holder.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// Interval between checks of the cancel flag; a worker's event is handled at once.
constexpr std::chrono::milliseconds between_looks{100};
constexpr std::chrono::milliseconds cancel_patience{2'000};
// Longer than any `alive` event: a longer unfinished line is an answer in transit.
constexpr std::size_t longest_alive = 256;
// Maximum number of events before an answer; a heat of a hundred contenders sends a few thousand.
constexpr int most_reported = 100'000;
// Restarts of a worker that is killed each time, possibly because of a permanent lack of memory.
constexpr int most_restarts = 5;

std::string in_words(std::chrono::milliseconds length) {
  return fmt::format("{:g} s", std::chrono::duration<double>(length).count());
}

}  // namespace

Result<WorkerPool> WorkerPool::start(const std::string& command,
                                     const std::vector<std::string>& with,
                                     const ConnectionRule& connection,
                                     const std::atomic<int>* cancel, MemoryKills memory_kills) {
  WorkerPool pool(command, with, connection, cancel, std::move(memory_kills));
  auto worker = pool.start_worker();
  if (!worker) return tl::unexpected(worker.error());
  pool.hello_ = worker->hello();
  pool.is_here_ = is_this_machine(pool.hello_);
  pool.over_a_line_ = !pool.is_here_;
  pool.worker_ = std::move(*worker);
  return pool;
}

WorkerPool::WorkerPool(std::string command, std::vector<std::string> with,
                       const ConnectionRule& connection, const std::atomic<int>* cancel,
                       MemoryKills memory_kills)
    : command_(std::move(command)),
      with_(std::move(with)),
      connection_(connection),
      cancel_(cancel),
      memory_kills_(std::move(memory_kills)),
      driver_(new_driver_number()) {}

void WorkerPool::listen(std::function<void(const std::string&)> on_warning,
                        std::function<void()> on_cancelling, std::function<void()> on_look) {
  on_warning_ = std::move(on_warning);
  on_cancelling_ = std::move(on_cancelling);
  on_look_ = std::move(on_look);
}

int WorkerPool::cancel_level() const {
  return cancel_ == nullptr ? 0 : cancel_->load(std::memory_order_relaxed);
}

tl::expected<WorkerProcess, StartFailure> WorkerPool::start_worker() const {
  for (int restarts = 0;; ++restarts) {
    auto started =
        WorkerProcess::start(command_, {.driver = driver_, .with = with_, .cancel = cancel_});
    if (started || !started.error().was_killed || restarts == most_restarts) return started;
    on_warning_(started.error().message + "; restarting it");
    pause(connection_.first_pause);
  }
}

// A signal ends the wait early; a cancel is sent as one.
void WorkerPool::pause(Milliseconds length) const {
  const auto until = Clock::now() + length;
  while (cancel_level() == 0 && Clock::now() < until) {
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
    poll(nullptr, 0, static_cast<int>(std::min(left, between_looks).count()));
    on_look_();
  }
}

// Starts a worker if there is none. A remote one may be unreachable temporarily: this is retried, a
// wrong answer is not. Returns the reason if there is still none.
std::optional<WorkerPool::Answer> WorkerPool::provide_worker() {
  const auto began = Clock::now();
  for (Milliseconds wait = connection_.first_pause; !worker_;
       wait = std::min(2 * wait, connection_.longest_pause)) {
    auto fresh = start_worker();
    if (fresh) {
      if (std::string other = why_not_the_same(fresh->hello()); !other.empty())
        return Answer{.kind = Answer::Kind::no_worker, .words = std::move(other)};
      worker_.emplace(std::move(*fresh));
      return std::nullopt;
    }
    if (auto given_up = no_worker_after(fresh.error(), began)) return given_up;
    on_warning_(fmt::format("{}; trying again in {}", fresh.error().message, in_words(wait)));
    pause(wait);
    if (is_cancelled()) return Answer{.kind = Answer::Kind::cancelled};
  }
  return std::nullopt;
}

std::optional<WorkerPool::Answer> WorkerPool::no_worker_after(const StartFailure& failure,
                                                              Clock::time_point began) {
  if (failure.cancelled) return Answer{.kind = Answer::Kind::cancelled};
  if (!over_a_line_ || !failure.may_pass)
    return Answer{.kind = Answer::Kind::no_worker, .words = failure.message};
  if (Clock::now() - began < connection_.patience) return std::nullopt;
  return Answer{.kind = Answer::Kind::no_worker,
                .words = fmt::format("no new connection to the worker within {}: {}",
                                     in_words(connection_.patience), failure.message)};
}

// Times of one run must be from one build and one machine. The boot ID identifies a machine best,
// if it is known: host names repeat, and a container has a new one each time.
std::string WorkerPool::why_not_the_same(const protocol::Hello& hello) const {
  const auto build_of = [](const protocol::Hello& worker) {
    return fmt::format("version {} (commit {})", in_a_sentence(worker.version),
                       in_a_sentence(text_field(worker.build, "commit")));
  };
  if (const std::string first = build_of(hello_), other = build_of(hello); first != other) {
    return fmt::format("the run began with a worker of {}, and the worker now answers with {}",
                       first, other);
  }
  const json &before = hello_.device, &now = hello.device;
  const std::string boot_before = text_field(before, "boot_id");
  const std::string boot_now = text_field(now, "boot_id");
  const bool same_start =
      boot_before == boot_now &&
      (!boot_now.empty() || text_field(before, "host") == text_field(now, "host"));
  if (same_start && text_field(before, "name") == text_field(now, "name")) return {};
  const auto words = [](const json& device) {
    return fmt::format("'{}' ({})", text_field(device, "host"), text_field(device, "name"));
  };
  const bool restarted = text_field(before, "host") == text_field(now, "host");
  return fmt::format("the run began on {}, and the worker now answers from {}{}", words(before),
                     words(now), restarted ? ", which was restarted" : "");
}

void WorkerPool::end_worker() {
  worker_->kill();
  worker_.reset();
}

WorkerPool::Answer WorkerPool::lost(std::string words) {
  over_a_line_ = true;
  if (++losses_ > connection_.most_losses) {
    return {.kind = Answer::Kind::no_worker,
            .words = fmt::format("the connection to the worker was lost {} times in a row, the "
                                 "last time: {}",
                                 losses_, words)};
  }
  return {.kind = Answer::Kind::lost, .words = std::move(words)};
}

WorkerPool::Answer WorkerPool::ended(const WorkerProcess::Ended& end,
                                     std::optional<std::int64_t> kills_before) {
  if (end.is_lost) return lost(end.words);
  // Kills on another machine are not counted here.
  const bool by_somebody = is_here_ && kills_before && memory_kills_() == kills_before;
  return {.kind = Answer::Kind::died,
          .words = end.words,
          // A SIGTERM that ends a whole job may reach the worker before this process: then the
          // running contender is not at fault.
          .contender = end.signal == SIGTERM ? std::nullopt : end.contender,
          .killed_by_system = end.signal == SIGKILL && !by_somebody};
}

WorkerPool::Answer WorkerPool::ask(const json& request, std::string_view awaited,
                                   const Patience& patience,
                                   const std::function<void(const json&)>& on_event) {
  if (auto none = provide_worker()) return *none;
  const std::optional<std::int64_t> kills_before = memory_kills_();
  // The first read detects a worker that died between two requests.
  static_cast<void>(worker_->send(request));
  const bool may_be_silent = is_here_ || awaited != protocol::MeasuredHeat::name;
  const auto began = Clock::now();
  auto last_sign = began, last_byte = began;
  int reported = 0;
  std::optional<int> contender;  // running at the worker's last event
  std::int64_t calls = -1;
  std::size_t pending = 0;
  std::optional<Clock::time_point> cancel_deadline;
  while (true) {
    if (is_cancelled() && !cancel_deadline) {
      if (!std::exchange(reported_cancelling_, true)) on_cancelling_();
      static_cast<void>(worker_->send(protocol::as_request(protocol::CancelRequest())));
      cancel_deadline = Clock::now() + cancel_patience;
    }
    if (cancel_level() > 1 || (cancel_deadline && Clock::now() > *cancel_deadline)) {
      end_worker();
      return {.kind = Answer::Kind::cancelled};
    }
    on_look_();
    WorkerProcess::Read read = worker_->read(between_looks);
    if (read.wait == WorkerProcess::Wait::ended) {
      worker_.reset();
      // The end of a job is signalled to all its processes at once.
      if (cancel_deadline || is_cancelled()) return {.kind = Answer::Kind::cancelled};
      return ended(read.ended, kills_before);
    }
    const auto now = Clock::now();
    if (read.wait == WorkerProcess::Wait::event) {
      last_byte = now;
      const std::string kind = text_field(read.event, "event");
      if (kind == protocol::Alive::name) {
        const auto alive =
            protocol::read_message<protocol::Alive>(read.event).value_or(protocol::Alive());
        contender = alive.contender < 0 ? std::nullopt : std::optional(alive.contender);
        if (std::exchange(calls, alive.calls) != alive.calls) last_sign = now;
      } else if (kind != awaited && kind != protocol::RequestFailed::name) {
        last_sign = now;
        ++reported;
        on_event(read.event);
      } else {
        if (cancel_deadline) return {.kind = Answer::Kind::cancelled};
        if (kind == awaited)
          return {.kind = Answer::Kind::answered, .event = std::move(read.event)};
        const std::string words = text_field(read.event, "message");
        return {.kind = Answer::Kind::refused,
                .words = words.empty() ? "it gave no reason" : in_a_sentence(words, longest_words),
                .contender = int_field(read.event, "contender")};
      }
    }
    if (const std::size_t arrived = worker_->pending_bytes(); arrived != pending) {
      last_byte = now;
      if (arrived > std::max(pending, longest_alive)) last_sign = now;
      pending = arrived;
    }
    if (!may_be_silent && now - last_byte > connection_.silence) {
      end_worker();
      return lost(fmt::format("it sent nothing for {}", in_words(connection_.silence)));
    }
    const std::string words =
        now - last_sign > patience.silence
            ? fmt::format("it showed no sign of life for {}", in_words(patience.silence))
        : now - began > patience.whole
            ? fmt::format("it had not answered within {}", in_words(patience.whole))
        : reported > most_reported ? fmt::format("it reported {} events but no result", reported)
                                   : "";
    if (!words.empty()) {
      end_worker();
      return {
          .kind = Answer::Kind::hung, .words = words + " and was ended", .contender = contender};
    }
  }
}

}  // namespace attnscope
