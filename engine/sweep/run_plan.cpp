// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/run_plan.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "engine/worker/protocol.h"

namespace attnscope {
namespace {

using nlohmann::json;

// Heats share contenders and stop rules: each is written once and referenced by its index.
template <typename Value>
std::size_t place_of(const Value& value, std::vector<Value>& values) {
  const auto found = std::ranges::find(values, value);
  if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
  values.push_back(value);
  return values.size() - 1;
}

template <typename Value>
json list_of(const std::vector<Value>& values) {
  json list = json::array();
  for (const Value& value : values) list.push_back(protocol::to_json(value));
  return list;
}

// The heat as in the protocol; throws json::exception on indices that do not exist.
json whole_heat(const json& plan, const json& heat, std::size_t index) {
  json contenders = json::array();
  for (const json& place : heat.at("contenders")) {
    contenders.push_back(plan.at("contenders").at(place.get<std::size_t>()));
  }
  return {{"index", heat.value("index", index)},
          {"point", heat.at("point")},
          {"contenders", std::move(contenders)},
          {"stop", plan.at("stops").at(heat.at("stop").get<std::size_t>())}};
}

}  // namespace

json plan_json(const std::vector<Heat>& heats) {
  std::vector<Contender> contenders;
  std::vector<StopRule> stops;
  json list = json::array();
  for (const Heat& heat : heats) {
    json places = json::array();
    for (const Contender& contender : heat.contenders) {
      places.push_back(place_of(contender, contenders));
    }
    const std::size_t place = list.size();
    list.push_back({{"point", protocol::to_json(heat.point)},
                    {"contenders", std::move(places)},
                    {"stop", place_of(heat.stop, stops)}});
    // For a part of a plan.
    if (heat.index != static_cast<int>(place)) list.back()["index"] = heat.index;
  }
  return {
      {"contenders", list_of(contenders)}, {"stops", list_of(stops)}, {"heats", std::move(list)}};
}

Result<std::vector<Heat>> read_plan(const json& plan) {
  try {
    std::vector<Heat> heats;
    for (const json& entry : plan.at("heats")) {
      auto heat = protocol::from_json<Heat>(whole_heat(plan, entry, heats.size()), "heat");
      if (!heat) return tl::unexpected(heat.error());
      heats.push_back(std::move(*heat));
    }
    return heats;
  } catch (const json::exception& error) {
    return fail("the stored plan of the run is damaged: {}", error.what());
  }
}

Result<std::vector<Heat>> stored_heats(const RunInfo& run) {
  const json provenance = parse_json(run.start.provenance);
  const auto plan = provenance.is_object() ? provenance.find("plan") : provenance.end();
  if (plan == provenance.end()) {
    return fail(
        "run {} has no stored plan and cannot be resumed; attnscope show {} prints its sweep for a "
        "new run",
        run.number, run.number);
  }
  return read_plan(*plan);
}

std::optional<effectiveness::MeasuredRuns> stored_runs(const RunInfo& run) {
  // Most runs have none: this avoids parsing their long provenance.
  if (run.damaged || run.start.provenance.find(stored_runs_key) == std::string::npos)
    return std::nullopt;
  const json provenance = parse_json(run.start.provenance);
  const auto stored = provenance.is_object() ? provenance.find(stored_runs_key) : provenance.end();
  if (stored == provenance.end()) return std::nullopt;
  auto runs = effectiveness::read_measured_runs(*stored);
  return runs ? std::optional(std::move(*runs)) : std::nullopt;
}

Result<Sweep> stored_sweep(const RunInfo& run) {
  if (run.damaged) {
    return fail("run {} is damaged: its stored plan may differ from the measured one", run.number);
  }
  auto heats = stored_heats(run);
  if (!heats) return tl::unexpected(heats.error());
  return Sweep{.name = run.start.sweep_name,
               .text = run.start.sweep_text,
               .heats = std::move(*heats),
               .measured_runs = stored_runs(run)};
}

}  // namespace attnscope
