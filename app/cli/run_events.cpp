// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/run_events.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/sentences.h"
#include "engine/worker/protocol.h"

namespace attnscope::cli {

namespace {

std::string_view word(RunEvent::Kind kind) {
  switch (kind) {
    case RunEvent::Kind::started:
      return "started";
    case RunEvent::Kind::waiting:
      return "waiting";
    case RunEvent::Kind::ceilings:
      return "ceilings";
    case RunEvent::Kind::heat_started:
      return "heat-started";
    case RunEvent::Kind::contender:
      return "contender";
    case RunEvent::Kind::progress:
      return "progress";
    case RunEvent::Kind::heat_finished:
      return "heat-finished";
    case RunEvent::Kind::warning:
      return "warning";
    case RunEvent::Kind::cancelling:
      return "cancelling";
    case RunEvent::Kind::paused:
      return "paused";
    case RunEvent::Kind::continued:
      return "continued";
    case RunEvent::Kind::finished:
      return "finished";
  }
  return "";
}

}  // namespace

std::string event_line(const RunEvent& event) {
  nlohmann::json json = {{"event", word(event.kind)},
                         {"run", event.run.uuid},
                         {"heats_done", event.heats_done},
                         {"heats_planned", event.heats_planned},
                         {"text", event.text}};
  if (event.seconds_left) json["seconds_left"] = *event.seconds_left;
  if (event.heat != nullptr) json["point"] = protocol::to_json(event.heat->point);
  if (event.result != nullptr) json["result"] = protocol::to_json(*event.result);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

bool print_event(const RunEvent& event) {
  const std::string line = visible(event_line(event));
  return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace attnscope::cli
