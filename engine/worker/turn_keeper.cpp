// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/turn_keeper.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/worker/sign_of_life.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr int between_checks_ms = 200;  // waiting must not disturb the running measurement

Result<std::set<DeviceKind>> devices_of(const json& request) {
  const auto listed = request.find("devices");
  if (listed == request.end() || !listed->is_array())
    return fail("the field 'devices' must be a list");
  std::set<DeviceKind> devices;
  for (const json& name : *listed) {
    if (!name.is_string()) return fail("the field 'devices' must be a list of texts");
    const auto device = parse_device(name.get<std::string>());
    if (!device) return tl::unexpected(device.error());
    devices.insert(*device);
  }
  return devices;
}

bool is_true(const json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && *found == true;
}

}  // namespace

void TurnKeeper::hold(const json& request, const Send& send,
                      const std::function<bool()>& is_cancelled) {
  turns_.clear();
  const auto fail_with = [&](const std::string& message) {
    turns_.clear();
    send({{"event", "error"}, {"message", message}});
  };
  const auto devices = devices_of(request);
  if (!devices) return fail_with(devices.error().message);
  // Every measurement takes them in this order, so that no two can deadlock.
  for (const DeviceKind device : *devices) {
    auto turn = Turn::line_up(locks_folder(), name_of_lock_(device), read_measurement(request));
    if (!turn) {
      turns_.clear();
      return send({{"event", "held"}, {"problem", turn.error().message}});
    }
    if (const auto come = turn->has_come(); is_true(request, "now") && come && !*come)
      turn->begin_now();
    const Status waited = wait(*turn, std::string(name_of(device)), send, is_cancelled);
    if (is_cancelled()) return fail_with("the wait was cancelled");
    if (!waited) {
      turns_.clear();
      return send({{"event", "held"}, {"problem", waited.error().message}});
    }
    turns_.push_back(std::move(*turn));
  }
  send({{"event", "held"}, {"problem", ""}});
}

Status TurnKeeper::wait(Turn& turn, const std::string& device, const Send& send,
                        const std::function<bool()>& is_cancelled) const {
  std::optional<Clock::time_point> last_sign;
  json last;
  while (!is_cancelled()) {
    const auto come = turn.has_come();
    if (!come) return tl::unexpected(come.error());
    if (*come) return {};
    const auto holder = turn.holder();
    json now = {{"event", "waiting"},
                {"device", device},
                {"by", holder ? to_json(*holder) : json(nullptr)}};
    // As often as during a measurement, since the connection may have been lost. For a moment there
    // is no name, when one measurement has ended and the next has not begun yet.
    const bool is_due = !last_sign || Clock::now() - *last_sign >= alive_interval;
    if (is_due || (holder && now != last)) {
      send(now);
      last_sign = Clock::now();
      last = std::move(now);
    }
    poll(nullptr, 0, between_checks_ms);
  }
  return {};
}

void TurnKeeper::others(const Send& send) {
  json measured = json::array();
  for (Turn& turn : turns_) {
    for (const Measurement& other : turn.others()) {
      json one = to_json(other);
      if (std::ranges::find(measured, one) == measured.end()) measured.push_back(std::move(one));
    }
  }
  send({{"event", "others"}, {"measured", std::move(measured)}});
}

}  // namespace attnscope
