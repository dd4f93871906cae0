// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/worker_crew.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// How often cancel flag and beacon are looked at; a worker's event is answered at once.
constexpr std::chrono::milliseconds glance{100};
constexpr std::chrono::milliseconds cancel_patience{2'000};
// What ssh ends with when its connection is cut; a worker never does.
constexpr int exit_connection_lost = 255;
// Longer than any heartbeat: an unfinished line beyond this is an answer on its way.
constexpr std::size_t longest_heartbeat = 256;

std::string text_field(const json& message, const char* field) {
  const auto found = message.is_object() ? message.find(field) : message.end();
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string in_words(std::chrono::milliseconds length) {
  return fmt::format("{:g} s", std::chrono::duration<double>(length).count());
}

}  // namespace

Result<WorkerCrew> WorkerCrew::start(const std::string& command, const ConnectionRule& connection,
                                     const std::atomic<int>* cancel) {
  auto beacon = BeaconFile::make();
  if (!beacon) return tl::unexpected(beacon.error());
  auto worker = WorkerProcess::start(
      command, {.beacon = beacon->path(), .beacon_nonce = beacon->nonce(), .cancel = cancel});
  if (!worker) return fail("{}", worker.error().message);
  return WorkerCrew(command, connection, cancel, std::move(*worker), std::move(*beacon));
}

WorkerCrew::WorkerCrew(std::string command, const ConnectionRule& connection,
                       const std::atomic<int>* cancel, WorkerProcess first, BeaconFile beacon)
    : command_(std::move(command)),
      connection_(connection),
      cancel_(cancel),
      worker_(std::move(first)),
      beacon_(std::move(beacon)),
      hello_(worker_->hello()),
      is_here_(worker_->shares_beacon()),
      over_a_line_(!is_here_) {}

void WorkerCrew::listen(std::function<void(const std::string&)> on_warning,
                        std::function<void()> on_cancelling) {
  on_warning_ = std::move(on_warning);
  on_cancelling_ = std::move(on_cancelling);
}

int WorkerCrew::cancel_level() const {
  return cancel_ == nullptr ? 0 : cancel_->load(std::memory_order_relaxed);
}

void WorkerCrew::dismiss() {
  worker_.reset();
}

// A signal ends it early, and whoever sends a cancel sends one.
void WorkerCrew::pause(Milliseconds length) const {
  const auto until = Clock::now() + length;
  while (cancel_level() == 0 && Clock::now() < until) {
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
    poll(nullptr, 0, static_cast<int>(std::min(left, glance).count()));
  }
}

// Starts a worker where there is none. One elsewhere may be out of reach for a while: that is tried
// again, a wrong answer is not. Returns why there is still none.
std::optional<WorkerCrew::Answer> WorkerCrew::provide_worker() {
  const auto began = Clock::now();
  for (Milliseconds wait = connection_.first_pause; !worker_;
       wait = std::min(2 * wait, connection_.longest_pause)) {
    auto fresh = WorkerProcess::start(
        command_, {.beacon = beacon_.path(), .beacon_nonce = beacon_.nonce(), .cancel = cancel_});
    if (fresh) {
      if (std::string other = why_not_the_same(fresh->hello()); !other.empty())
        return Answer{.kind = Answer::Kind::no_worker, .words = std::move(other)};
      worker_.emplace(std::move(*fresh));
      return std::nullopt;
    }
    if (auto given_up = no_worker_after(fresh.error(), began)) return given_up;
    on_warning_(fmt::format("{}; trying again in {}", fresh.error().message, in_words(wait)));
    pause(wait);
    if (cancel_level() > 0) return Answer{.kind = Answer::Kind::cancelled};
  }
  return std::nullopt;
}

std::optional<WorkerCrew::Answer> WorkerCrew::no_worker_after(const StartFailure& failure,
                                                              Clock::time_point began) {
  if (failure.cancelled) return Answer{.kind = Answer::Kind::cancelled};
  if (!over_a_line_ || !failure.may_pass)
    return Answer{.kind = Answer::Kind::no_worker, .words = failure.message};
  if (Clock::now() - began < connection_.patience) return std::nullopt;
  return Answer{.kind = Answer::Kind::no_worker,
                .words = fmt::format("the worker could not be reached again for {}: {}",
                                     in_words(connection_.patience), failure.message)};
}

// Times of one run belong to one machine. Its number of this start tells a machine best, where it
// is known: names repeat, and a container has a new one each time.
std::string WorkerCrew::why_not_the_same(const json& hello) const {
  const json before = hello_.value("device", json());
  const json now = hello.value("device", json());
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
                     words(now), restarted ? ", which was started anew" : "");
}

protocol::Beacon WorkerCrew::beacon() const {
  return is_here_ ? beacon_.read() : heard_;
}

void WorkerCrew::take_heartbeat(const json& event) {
  const auto contender = event.find("contender");
  const auto calls = event.find("calls");
  if (contender != event.end() && contender->is_number_integer())
    heard_.contender = contender->get<std::int32_t>();
  if (calls != event.end() && calls->is_number_unsigned())
    heard_.calls = calls->get<std::uint32_t>();
}

WorkerCrew::Answer WorkerCrew::with_suspect(Answer answer) const {
  const int contender = beacon().contender;
  if (contender >= 0 && !answer.contender) answer.contender = contender;
  return answer;
}

WorkerCrew::Answer WorkerCrew::lost(std::string words) {
  worker_.reset();
  over_a_line_ = true;
  if (++losses_ > connection_.most_losses) {
    return {.kind = Answer::Kind::no_worker,
            .words = fmt::format("the connection to the worker was lost {} times in a row, the "
                                 "last time: {}",
                                 losses_, words)};
  }
  return {.kind = Answer::Kind::lost, .words = std::move(words)};
}

WorkerCrew::Answer WorkerCrew::ended(const WorkerProcess::Ended& end) {
  // Without its last word it was the line that ended, unless what was started here was killed here.
  const bool like_a_line = end.exit_code == exit_connection_lost;
  const bool cut = !end.told && (is_here_ ? like_a_line && worker_->tells_end()
                                          : like_a_line || worker_->tells_end());
  if (cut) return lost(end.words);
  worker_.reset();
  Answer answer{.kind = Answer::Kind::died, .words = end.words};
  answer.killed_by_system = end.signal == SIGKILL;
  // The heartbeat may be seconds old; the last event is not.
  if (!is_here_ && end.told) {
    if (end.contender.value_or(-1) >= 0) answer.contender = end.contender;
    return answer;
  }
  return with_suspect(std::move(answer));
}

WorkerCrew::Answer WorkerCrew::stopped(Answer::Kind kind, std::string words) {
  worker_->kill();
  worker_.reset();
  return with_suspect({.kind = kind, .words = std::move(words)});
}

void WorkerCrew::pass_on_cancel() {
  if (!std::exchange(told_cancelling_, true)) on_cancelling_();
  static_cast<void>(worker_->send({{"request", "cancel"}}));
}

WorkerCrew::Answer WorkerCrew::ask(const json& request, std::string_view awaited,
                                   Milliseconds patience,
                                   const std::function<void(const json&)>& on_event) {
  if (auto none = provide_worker()) return *none;
  beacon_.clear();
  heard_ = {};
  // One that died between two requests is found out by the first read.
  static_cast<void>(worker_->send(request));

  const bool expects_heartbeat = !is_here_ && awaited == "heat";
  auto last_sign = Clock::now(), last_byte = last_sign;
  std::uint32_t calls = beacon().calls;
  std::size_t pending = 0;
  std::optional<Clock::time_point> cancel_deadline;
  while (true) {
    if (cancel_level() > 0 && !cancel_deadline) {
      pass_on_cancel();
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
    const auto now = Clock::now();
    if (read.wait == WorkerProcess::Wait::event) {
      last_byte = now;
      const std::string kind = text_field(read.event, "event");
      if (kind == "alive") {
        take_heartbeat(read.event);
      } else if (kind != awaited && kind != "error") {
        last_sign = now;
        on_event(read.event);
      } else {
        losses_ = 0;
        if (cancel_deadline) return {.kind = Answer::Kind::cancelled};
        if (kind == awaited)
          return {.kind = Answer::Kind::answered, .event = std::move(read.event)};
        return with_suspect(
            {.kind = Answer::Kind::refused, .words = text_field(read.event, "message")});
      }
    }
    if (const std::uint32_t made = beacon().calls; made != calls) {
      calls = made;
      last_sign = now;
    }
    if (const std::size_t arrived = worker_->pending_bytes(); arrived != pending) {
      last_byte = now;
      if (arrived > std::max(pending, longest_heartbeat)) last_sign = now;
      pending = arrived;
    }
    if (expects_heartbeat && now - last_byte > connection_.silence) {
      worker_->kill();
      return lost(fmt::format("not a byte came from it for {}", in_words(connection_.silence)));
    }
    if (now - last_sign > patience) {
      return stopped(
          Answer::Kind::hung,
          fmt::format("it showed no sign of life for {} and was ended", in_words(patience)));
    }
  }
}

}  // namespace attnscope
