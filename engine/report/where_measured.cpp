// SPDX-License-Identifier: Apache-2.0
#include "engine/report/where_measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"

namespace attnscope::report {
namespace {

using nlohmann::json;

constexpr const char* machines_key = "machines";
constexpr std::string_view unknown_machine = "not known";

std::string first_text(const json& start, std::initializer_list<const char*> pointers) {
  for (const char* pointer : pointers) {
    const json found = provenance_at(start, pointer);
    if (found.is_string() && !found.get<std::string>().empty())
      return one_line(found.get<std::string>());
  }
  return {};
}

std::string device_of_start(const json& start) {
  return first_text(start, {"/cuda/name", "/device/name"});
}

/// "node7 (AMD EPYC 7B13)"
std::string machine_of_start(const json& start) {
  const std::string node = first_text(start, {"/slurm/node", "/device/host"});
  const std::string device = device_of_start(start);
  if (node.empty() && device.empty()) return std::string(unknown_machine);
  if (node.empty() || device.empty()) return node + device;
  return fmt::format("{} ({})", node, device);
}

/// The provenance of all starts, the first start before the restarts; a damaged one is null.
Result<std::vector<json>> starts_of(const Store& store, const RunInfo& run) {
  const auto restarts = store.restarts(run.id);
  if (!restarts) return tl::unexpected(restarts.error());
  std::vector<json> starts{run.damaged ? json() : parse_json(run.start.provenance)};
  for (const Restart& restart : *restarts)
    starts.push_back(restart.damaged ? json() : parse_json(restart.provenance));
  return starts;
}

struct Found {
  json start;  // the machine's last start
  std::vector<std::int64_t> heats;
};

/// The machines by name, in the order of their first heats.
std::vector<std::pair<std::string, Found>> find_machines(
    const std::vector<json>& starts,
    const std::map<std::int64_t, std::optional<std::size_t>>& heats) {
  std::vector<std::pair<std::string, Found>> machines;
  for (const auto& [heat, place] : heats) {
    const json start = place && *place < starts.size() ? starts[*place] : json();
    const std::string name = machine_of_start(start);
    auto known = std::ranges::find(machines, name, &std::pair<std::string, Found>::first);
    if (known == machines.end()) known = machines.insert(known, {name, {}});
    known->second.start = start;
    known->second.heats.push_back(heat);
  }
  return machines;
}

std::string machines_in_words(const std::vector<std::pair<std::string, Found>>& machines) {
  constexpr std::size_t most = 6;
  if (machines.size() == 1) return machines.front().first;
  std::string text = fmt::format("{} machines: ", machines.size());
  for (std::size_t i = 0; i < std::min(machines.size(), most); ++i)
    text.append(i == 0 ? "" : ", ").append(machines[i].first);
  if (machines.size() > most) text += fmt::format(" and {} more", machines.size() - most);
  return text;
}

/// The part of a start's provenance that describes the machine and the software.
json told_by(const json& start) {
  json told = json::object();
  for (const char* key : {"device", "cuda", "build", "worker", "slurm"}) {
    if (start.is_object() && start.contains(key)) told[key] = start.at(key);
  }
  return told;
}

}  // namespace

Result<RunInfo> with_machines(const Store& store, const RunInfo& run) {
  const auto starts = starts_of(store, run);
  if (!starts) return tl::unexpected(starts.error());
  if (starts->size() == 1) return run;
  const auto heats = store.starts_of_heats(run.id);
  if (!heats) return tl::unexpected(heats.error());
  const auto machines = find_machines(*starts, *heats);
  json provenance = starts->front();
  const bool is_of_parts = provenance_at(provenance, "/device").is_null() &&
                           !provenance_at(provenance, "/slurm").is_null();
  if (machines.empty() || !provenance.is_object() || (machines.size() == 1 && !is_of_parts))
    return run;
  RunInfo known = run;
  known.start.device = machines_in_words(machines);
  json& list = provenance[machines_key] = json::array();
  for (const auto& [name, found] : machines) {
    const json told = told_by(found.start);
    if (is_of_parts && list.empty()) {
      // The run's own "slurm" entry, which describes its parts, is kept.
      for (const auto& [key, value] : told.items()) {
        if (provenance_at(provenance, fmt::format("/{}", key)).is_null()) provenance[key] = value;
      }
    }
    list.push_back({{"name", name},
                    {"device", device_of_start(found.start)},
                    {"heats", found.heats},
                    {"start", told}});
  }
  known.start.provenance = provenance.dump(-1, ' ', false, json::error_handler_t::replace);
  return known;
}

std::vector<Machine> machines_in(const RunInfo& run) {
  // Avoids parsing the long provenance of most runs, which lack this key.
  if (run.start.provenance.find(fmt::format("\"{}\"", machines_key)) == std::string::npos)
    return {};
  std::vector<Machine> machines;
  const json list =
      provenance_at(parse_json(run.start.provenance), fmt::format("/{}", machines_key));
  try {
    for (const json& entry : list.is_array() ? list : json::array()) {
      machines.push_back({.name = entry.at("name").get<std::string>(),
                          .device = entry.at("device").get<std::string>(),
                          .heats = entry.at("heats").get<std::set<std::int64_t>>()});
    }
  } catch (const json::exception&) {
    return {};  // an unrelated value under the same key
  }
  return machines;
}

bool are_unlike(const std::vector<Machine>& machines) {
  return std::ranges::any_of(
      machines, [&](const Machine& machine) { return machine.device != machines.front().device; });
}

std::vector<std::string> cautions_of_machines(const RunInfo& run) {
  const std::vector<Machine> machines = machines_in(run);
  if (machines.size() < 2) return {};
  std::vector<std::string> found{fmt::format(
      "measured on {}; the ratios of a heat are of one machine, and times of different heats may "
      "be of different ones{}",
      run.start.device,
      are_unlike(machines) ? "; the machines are not of one kind, and no limits are told" : "")};
  const json list =
      provenance_at(parse_json(run.start.provenance), fmt::format("/{}", machines_key));
  RunInfo first = run, other = run;
  const auto without_host = [](json start) {
    // The different machine has already been reported.
    if (start.is_object() && start.contains("device") && start["device"].is_object())
      start["device"].erase("host");
    return start.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  first.start.provenance = without_host(list.at(0).value("start", json()));
  for (std::size_t i = 1; i < machines.size(); ++i) {
    other.start.provenance = without_host(list.at(i).value("start", json()));
    for (const std::string& difference : differences(first, other)) {
      found.push_back(fmt::format("{} is not as {} (A: the latter, B: the former): {}",
                                  machines[i].name, machines.front().name, difference));
    }
  }
  return found;
}

}  // namespace attnscope::report
