// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/turn_keeper.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/worker/sign_of_life.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int between_checks_ms = 200;  // waiting must not disturb the running measurement

}  // namespace

void TurnKeeper::hold(const protocol::HoldRequest& request, const Send& send,
                      const std::function<bool()>& is_cancelled) {
  turns_.clear();
  const auto answer = [&](const std::string& problem) {
    if (!problem.empty()) turns_.clear();
    send(protocol::as_event(protocol::TurnHeld{.problem = problem}));
  };
  // Every measurement takes the locks in the order of the request, so that no two can deadlock.
  for (const DeviceKind device : request.devices) {
    auto turn =
        Turn::line_up(locks_folder(), name_of_lock_(device),
                      {.what = request.what, .process = request.process, .host = request.host});
    if (!turn) return answer(turn.error().message);
    if (const auto come = turn->has_come(); request.now && come && !*come) turn->begin_now();
    const Status waited = wait(*turn, device, send, is_cancelled);
    if (is_cancelled()) {
      turns_.clear();
      return send(protocol::as_event(
          protocol::RequestFailed{.message = "the wait was cancelled", .contender = {}}));
    }
    if (!waited) return answer(waited.error().message);
    turns_.push_back(std::move(*turn));
  }
  answer("");
}

Status TurnKeeper::wait(Turn& turn, DeviceKind device, const Send& send,
                        const std::function<bool()>& is_cancelled) const {
  std::optional<Clock::time_point> last_sign;
  std::optional<Measurement> last;
  while (!is_cancelled()) {
    const auto come = turn.has_come();
    if (!come) return tl::unexpected(come.error());
    if (*come) return {};
    const auto holder = turn.holder();
    // Events are sent as often as during a measurement, so that a lost connection is noticed.
    // `holder` is empty for a moment when one measurement has ended and the next has not yet
    // started.
    const bool is_due = !last_sign || Clock::now() - *last_sign >= alive_interval;
    if (is_due || (holder && holder != last)) {
      send(protocol::as_event(protocol::WaitingForTurn{.device = device, .by = holder}));
      last_sign = Clock::now();
      last = holder;
    }
    poll(nullptr, 0, between_checks_ms);
  }
  return {};
}

void TurnKeeper::others(const Send& send) {
  std::vector<Measurement> measured;
  for (Turn& turn : turns_) {
    for (Measurement& other : turn.others()) {
      if (std::ranges::find(measured, other) == measured.end())
        measured.push_back(std::move(other));
    }
  }
  send(protocol::as_event(protocol::OtherMeasurements{.measured = std::move(measured)}));
}

}  // namespace attnscope
