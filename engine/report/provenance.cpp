// SPDX-License-Identifier: Apache-2.0
#include "engine/report/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "engine/report/number_text.h"
#include "engine/worker/protocol.h"

namespace attnscope::report {
namespace {

using nlohmann::json;

std::string text_at(const json& provenance, const std::string& pointer) {
  const json found = provenance_at(provenance, pointer);
  return found.is_string() ? found.get<std::string>() : std::string();
}

/// "AttnScope 0.1.0, commit 1a2b3c4d5e (modified), GNU 12.2.0 -O3"
std::string driver_in_words(const json& provenance) {
  std::string text = "AttnScope";
  if (const std::string version = text_at(provenance, "/driver/version"); !version.empty()) {
    text += " " + version;
  }
  if (const std::string commit = text_at(provenance, "/driver/commit"); !commit.empty()) {
    text += ", commit " + commit.substr(0, 10);
    if (provenance_at(provenance, "/driver/dirty") == true) text += " (modified)";
  }
  for (const auto& [key, before] : {std::pair("/driver/compiler", ", "), {"/driver/flags", " "}}) {
    if (const std::string value = text_at(provenance, key); !value.empty()) text += before + value;
  }
  return text;
}

std::string without_outer_spaces(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

struct Fact {
  const char* pointer;
  std::string_view words;
};

constexpr std::array<Fact, 24> compared_facts{{
    {"/device/name", "processor"},
    {"/device/host", "host"},
    {"/device/cores", "cores"},
    {"/device/affinity", "cores it may use"},
    {"/device/cpu_quota", "the container's share of the cores"},
    {"/device/smt", "simultaneous multithreading"},
    {"/device/governor", "governor"},
    {"/device/turbo", "turbo"},
    {"/device/microcode", "microcode"},
    {"/device/kernel", "kernel"},
    {"/device/huge_pages", "transparent huge pages"},
    {"/device/instruction_set", "instruction set"},
    {"/device/c_library", "C library"},
    {"/device/nvidia_driver", "GPU driver"},
    {"/cuda/name", "GPU"},
    {"/build/version", "version"},
    {"/build/compiler", "compiler"},
    {"/build/flags", "compiler flags"},
    {"/build/build_type", "build type"},
    {"/build/libtorch", "LibTorch"},
    {"/build/blas", "BLAS"},
    {"/build/onednn", "oneDNN"},
    {"/build/libtorch_instruction_set", "LibTorch's instruction set"},
    {"/build/allocator", "allocator"},
}};

std::string value_in_words(const json& value) {
  std::string text = value.is_string() ? value.get<std::string>()
                     : value.is_boolean()
                         ? (value.get<bool>() ? "on" : "off")
                         : value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.empty() ? "none" : one_line(std::move(text));
}

void compare_commits(const json& a, const json& b, std::vector<std::string>& found) {
  const json commit_a = provenance_at(a, "/build/commit"),
             commit_b = provenance_at(b, "/build/commit");
  if (!commit_a.is_string() || !commit_b.is_string()) return;
  if (commit_a != commit_b) {
    found.push_back(fmt::format("commit: {} in A, {} in B",
                                commit_a.get<std::string>().substr(0, 10),
                                commit_b.get<std::string>().substr(0, 10)));
  }
  const bool dirty_a = provenance_at(a, "/build/dirty") == true,
             dirty_b = provenance_at(b, "/build/dirty") == true;
  if (dirty_a || dirty_b) {
    found.push_back(fmt::format("{} built from modified sources, {}",
                                dirty_a && dirty_b ? "both were"
                                : dirty_a          ? "A was"
                                                   : "B was",
                                no_commit_identifies));
  }
}

void compare_environments(const json& a, const json& b, std::vector<std::string>& found) {
  const json in_a = provenance_at(a, "/device/environment"),
             in_b = provenance_at(b, "/device/environment");
  if (!in_a.is_object() || !in_b.is_object()) return;
  json names = in_a;
  names.update(in_b);
  for (const auto& [name, ignored] : names.items()) {
    const auto value = [&name = name](const json& settings) {
      return settings.contains(name) ? value_in_words(settings.at(name)) : std::string("not set");
    };
    if (value(in_a) == value(in_b)) continue;
    found.push_back(fmt::format("{}: {} in A, {} in B", name, value(in_a), value(in_b)));
  }
}

}  // namespace

json provenance_of(const RunInfo& run) {
  json provenance = parse_json(run.start.provenance);
  // An invalid number of cores is treated as missing.
  if (const json device = provenance_at(provenance, "/device");
      device.is_object() && device.contains("cores") && !protocol::cores_of(device))
    provenance["device"].erase("cores");
  // Earlier programs stored the compiler flags with a space before or after them.
  for (const char* part : {"build", "driver"}) {
    const json flags = provenance_at(provenance, fmt::format("/{}/flags", part));
    if (flags.is_string())
      provenance[part]["flags"] = without_outer_spaces(flags.get<std::string>());
  }
  return provenance;
}

json provenance_at(const json& provenance, const std::string& pointer) {
  const json::json_pointer place(pointer);
  return provenance.is_object() && provenance.contains(place) ? provenance.at(place) : json();
}

std::string provenance_line(const RunInfo& run, std::string_view disturbed) {
  // The provenance depends on the program that wrote the run; missing parts are omitted.
  const json provenance = provenance_of(run);
  const std::string caches = text_at(provenance, "/measuring/cache");
  std::string line = fmt::format(
      "Run {} ({}), {}, {}; {}{}; {}{}{}; to repeat: {}", run.number, run.start.sweep_name,
      time_in_words(run.started_unix_ms), run.start.device, driver_in_words(provenance),
      caches.empty() ? "" : fmt::format("; {} caches", caches), run.start.command_line,
      disturbed.empty() ? "" : "; ", disturbed, command_on(run, "run --again"));
  for (const std::string& damage : damage_in_words(run)) line += "; " + damage;
  return one_line(std::move(line));
}

std::vector<std::string> damage_in_words(const RunInfo& run) {
  std::vector<std::string> found;
  if (run.damaged) found.emplace_back("the record of this run's start is damaged");
  if (run.damaged_state) {
    found.emplace_back(
        "its status, name, tag, note, dates or numbers of heats and restarts differ from what was "
        "stored");
  }
  if (run.damaged_ceilings > 0) {
    found.push_back(
        fmt::format("{} of its machine's rates are damaged and left out",
                    counted(static_cast<std::size_t>(run.damaged_ceilings), "measurement")));
  }
  if (run.damaged_heats > 0) {
    found.push_back(fmt::format("missing or added: {}",
                                counted(static_cast<std::size_t>(run.damaged_heats), "heat")));
  }
  if (run.damaged_restarts > 0) {
    found.push_back(
        fmt::format("damaged and left out: {}",
                    counted(static_cast<std::size_t>(run.damaged_restarts), "restart")));
  }
  if (missing_heats(run) > 0) {
    found.push_back(
        fmt::format("missing: {} of the {} that it was finished with", missing_heats(run),
                    counted(static_cast<std::size_t>(run.start.heats_planned), "heat")));
  }
  if (run.missing_cells > 0) {
    found.push_back(fmt::format("missing or added: {}",
                                counted(static_cast<std::size_t>(run.missing_cells), "cell")));
  }
  return found;
}

std::vector<std::string> differences(const RunInfo& a, const RunInfo& b) {
  const json of_a = provenance_of(a);
  const json of_b = provenance_of(b);
  std::vector<std::string> found;
  for (const Fact& fact : compared_facts) {
    const json in_a = provenance_at(of_a, fact.pointer), in_b = provenance_at(of_b, fact.pointer);
    if (in_a.is_null() || in_b.is_null() || in_a == in_b) continue;
    found.push_back(fmt::format("{}: {} in A, {} in B", fact.words, value_in_words(in_a),
                                value_in_words(in_b)));
  }
  compare_commits(of_a, of_b, found);
  compare_environments(of_a, of_b, found);
  return found;
}

// Machines.

namespace {

using nlohmann::json;

constexpr const char* machines_key = "machines";
constexpr std::string_view unknown_machine = "unknown";

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
json description_of(const json& start) {
  json described = json::object();
  for (const char* key : {"device", "cuda", "build", "worker", "slurm"}) {
    if (start.is_object() && start.contains(key)) described[key] = start.at(key);
  }
  return described;
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
    const json described = description_of(found.start);
    if (is_of_parts && list.empty()) {
      // The run's own "slurm" entry, which describes its parts, is kept.
      for (const auto& [key, value] : described.items()) {
        if (provenance_at(provenance, fmt::format("/{}", key)).is_null()) provenance[key] = value;
      }
    }
    list.push_back({{"name", name},
                    {"device", device_of_start(found.start)},
                    {"heats", found.heats},
                    {"start", described}});
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
  std::vector<std::string> found{
      fmt::format("measured on {}; each heat's ratios are from one machine, but times of different "
                  "heats may be "
                  "from different machines{}",
                  run.start.device,
                  are_unlike(machines) ? "; the machines differ, so no limits are given" : "")};
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
      found.push_back(fmt::format("{} (B) differs from {} (A): {}", machines[i].name,
                                  machines.front().name, difference));
    }
  }
  return found;
}

}  // namespace attnscope::report
