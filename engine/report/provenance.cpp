// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/report/number_text.h"
#include "engine/report/table.h"

namespace attnscope::report {
namespace {

using nlohmann::json;

std::string text_at(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& part(const json& object, const char* key) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found != object.end() ? *found : nothing;
}

/// "AttnScope 0.1.0, commit 1a2b3c4d5e (modified), GNU 12.2.0 -O3"
std::string build_in_words(const json& build) {
  std::string text = "AttnScope";
  if (const std::string version = text_at(build, "version"); !version.empty()) {
    text += " " + version;
  }
  if (const std::string commit = text_at(build, "commit"); !commit.empty()) {
    text += ", commit " + commit.substr(0, 10);
    const json& dirty = part(build, "dirty");
    if (dirty.is_boolean() && dirty.get<bool>()) text += " (modified)";
  }
  for (const char* key : {"compiler", "flags"}) {
    if (const std::string value = text_at(build, key); !value.empty()) {
      text += (std::string_view(key) == "compiler" ? ", " : " ") + value;
    }
  }
  return text;
}

/// "; cold caches" of a run that says it.
std::string caches_in_words(const json& measuring) {
  const std::string states = text_at(measuring, "cache");
  return states.empty() ? std::string() : fmt::format("; {} caches", states);
}

}  // namespace

std::string provenance_line(const RunInfo& run) {
  // Whoever wrote the run decides what its provenance holds; what is not there is left out.
  const json provenance = json::parse(run.start.provenance, nullptr, /*allow_exceptions=*/false);
  std::string line = fmt::format(
      "Run {} ({}), {}, {}; {}{}; {}; to repeat: attnscope run --again {}", run.number,
      run.start.sweep_name, time_in_words(run.started_unix_ms), run.start.device,
      build_in_words(part(provenance, "driver")), caches_in_words(part(provenance, "measuring")),
      run.start.command_line, run.id.uuid);
  if (run.damaged) line += "; this run's own values are damaged";
  return one_line(std::move(line));
}

}  // namespace attnscope::report
