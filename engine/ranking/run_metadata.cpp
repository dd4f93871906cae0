// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/run_metadata.h"

#include <fmt/format.h>

#include <utility>

#include "engine/worker/worker_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Copies an object's member under another key, if it is present; unknown values are omitted.
void take(ordered_json& into, const char* key, const json& from, const char* member) {
  const auto found = from.is_object() ? from.find(member) : from.end();
  if (found != from.end() && !found->is_null()) into[key] = ordered_json(*found);
}

std::string gigabytes(const json& bytes) {
  return fmt::format("{:.1f} GB", bytes.get<double>() / 1e9);
}

/// The worker's machine, from its hello event.
ordered_json platform_of(const protocol::Hello& hello, const std::string& device) {
  const json &machine = hello.device, &build = hello.build;
  ordered_json cpu, hardware, system, software;
  take(cpu, "model", machine, "name");
  take(cpu, "architecture", machine, "architecture");
  take(cpu, "number of cores", machine, "cores");
  hardware["cpu"] = cpu;
  for (const json& listed : hello.devices) {
    if (device == "cpu" || listed.value("kind", "") != device || !listed.value("available", false))
      continue;
    hardware["gpu"]["model"] = listed.value("name", "");
    if (listed.contains("memory_bytes")) hardware["gpu"]["ram"] = gigabytes(listed["memory_bytes"]);
    break;
  }
  if (machine.contains("memory_bytes")) hardware["ram"] = gigabytes(machine["memory_bytes"]);
  take(system, "kernel", machine, "kernel");
  take(system, "distribution", machine, "system");
  if (build.contains("libtorch")) {
    software["libraries"]["c++"] =
        ordered_json::array({"libtorch==" + text_field(build, "libtorch")});
  }
  software["retrieval toolkit"] =
      ordered_json::array({"attnscope==" + text_field(build, "version")});
  return {{"hardware", hardware}, {"operating system", system}, {"software", software}};
}

std::string in_words(LongDocuments how) {
  switch (how) {
    case LongDocuments::first_p:
      return "first-p";
    case LongDocuments::max_p:
      return "max-p";
    case LongDocuments::max_p_as_published:
      return "max-p as published";
    case LongDocuments::whole:
      break;
  }
  return "whole";
}

/// The metadata of both stages.
ordered_json method_of(const RunFacts& facts, const ModelQuestion& requested,
                       const ScoringModel& model) {
  ordered_json params = {{"pattern", model.pattern.name}};
  if (!model.place.revision.empty()) params["revision"] = model.place.revision;
  if (model.window) params["window"] = model.window->text();
  params.update({{"implementation", facts.implementation},
                 {"dtype", requested.dtype},
                 {"precision", requested.precision},
                 {"depth", facts.depth},
                 {"long documents", in_words(facts.long_documents)}});
  ordered_json first = {{"name", facts.first_tag}};
  ordered_json second = {{"name", facts.tag},
                         {"method", model.name},
                         {"params", std::move(params)},
                         {"reranks", facts.first_tag}};
  return {{"automatic", true},
          {"score ties", "order of the first stage"},
          {"retrieval", ordered_json::array({std::move(first), std::move(second)})}};
}

}  // namespace

ordered_json run_resources(std::chrono::steady_clock::duration time,
                           const effectiveness::Energy& energy) {
  ordered_json resources;
  resources["runtime"]["wallclock"] =
      fmt::format("{} ms", std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  for (const auto& [part, joules] :
       {std::pair("cpu", energy.cpu_joules), std::pair("ram", energy.memory_joules),
        std::pair("gpu", energy.device_joules)}) {
    if (joules) resources[part]["energy used system"] = fmt::format("{:.1f} J", *joules);
  }
  return resources;
}

ordered_json run_metadata(const RunFacts& facts, const ModelQuestion& requested,
                          const ScoringModel& model, const protocol::Hello& hello) {
  ordered_json source = {{"lang", ordered_json::array({"c++"})}};
  take(source, "commit", hello.build, "commit");
  ordered_json first = {{"name", "first stage"}, {"source", facts.first_stage}};
  ordered_json documents = {{"name", "documents"}, {"source", facts.documents}};
  return {{"schema-version", 0.1},
          {"run-version", 1.0},
          {"tag", facts.tag},
          {"platform", platform_of(hello, requested.device)},
          {"research goal", ordered_json::object()},
          {"implementation",
           {{"executable", {{"cmd", facts.command_line}}}, {"source", std::move(source)}}},
          {"method", method_of(facts, requested, model)},
          {"actor", ordered_json::object()},
          {"data",
           {{"test collection", {{"topics", facts.queries}}},
            {"other", ordered_json::array({std::move(documents), std::move(first)})}}}};
}

}  // namespace attnscope
