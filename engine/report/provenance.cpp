// SPDX-License-Identifier: Apache-2.0
#include "engine/report/provenance.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "base/shell_word.h"
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

struct Fact {
  const char* pointer;
  std::string_view words;
};

constexpr std::array<Fact, 24> facts{{
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
    found.push_back(fmt::format("{} built from modified sources, which no commit names",
                                dirty_a && dirty_b ? "both were"
                                : dirty_a          ? "A was"
                                                   : "B was"));
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
  if (run.damaged) found.emplace_back("what this run started with is damaged");
  if (run.damaged_state) {
    found.emplace_back(
        "its status, name, tag, note, dates or numbers of heats and restarts are not as they were "
        "stored");
  }
  if (run.damaged_ceilings > 0) {
    found.push_back(
        fmt::format("{} of its machine's rates are damaged and left out",
                    counted(static_cast<std::size_t>(run.damaged_ceilings), "measurement")));
  }
  if (run.damaged_heats > 0) {
    found.push_back(fmt::format("{} that it had are missing, or were added to it",
                                counted(static_cast<std::size_t>(run.damaged_heats), "heat")));
  }
  if (run.damaged_restarts > 0) {
    found.push_back(
        fmt::format("damaged and left out: {} of it",
                    counted(static_cast<std::size_t>(run.damaged_restarts), "restart")));
  }
  if (missing_heats(run) > 0) {
    found.push_back(
        fmt::format("missing of it: {} of the {} that it was done with", missing_heats(run),
                    counted(static_cast<std::size_t>(run.start.heats_planned), "heat")));
  }
  if (run.missing_cells > 0) {
    found.push_back(fmt::format("{} that it had are missing, or were added to it",
                                counted(static_cast<std::size_t>(run.missing_cells), "cell")));
  }
  return found;
}

std::vector<std::string> differences(const RunInfo& a, const RunInfo& b) {
  const json of_a = provenance_of(a);
  const json of_b = provenance_of(b);
  std::vector<std::string> found;
  for (const Fact& fact : facts) {
    const json in_a = provenance_at(of_a, fact.pointer), in_b = provenance_at(of_b, fact.pointer);
    if (in_a.is_null() || in_b.is_null() || in_a == in_b) continue;
    found.push_back(fmt::format("{}: {} in A, {} in B", fact.words, value_in_words(in_a),
                                value_in_words(in_b)));
  }
  compare_commits(of_a, of_b, found);
  compare_environments(of_a, of_b, found);
  return found;
}

}  // namespace attnscope::report
