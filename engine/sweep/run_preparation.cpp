// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/run_preparation.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "attnscope/build_info.h"
#include "engine/sweep/worker_process.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::vector<std::string> listed_implementations(const json& hello) {
  std::vector<std::string> ids;
  const auto listed = hello.find("implementations");
  if (listed == hello.end() || !listed->is_array()) return ids;
  for (const json& one : *listed) {
    const auto id = one.is_object() ? one.find("id") : one.end();
    if (id != one.end() && id->is_string()) ids.push_back(id->get<std::string>());
  }
  return ids;
}

json part(const json& hello, const char* key) {
  const auto found = hello.find(key);
  return found == hello.end() ? json() : *found;
}

}  // namespace

Status check_implementations(const std::vector<Heat>& heats, const json& hello) {
  const std::vector<std::string> ids = listed_implementations(hello);
  const std::vector<std::string_view> known(ids.begin(), ids.end());
  for (const Heat& heat : heats) {
    for (const Contender& contender : heat.contenders) {
      if (std::ranges::find(known, contender.implementation) != known.end()) continue;
      return fail("contender '{}': there is no implementation '{}'; {}", contender.id(),
                  contender.implementation, suggest(contender.implementation, known));
    }
  }
  return {};
}

Status settle_threads(std::vector<Heat>& heats, int cores) {
  std::set<std::string> points;
  for (Heat& heat : heats) {
    if (heat.point.threads == 0) heat.point.threads = cores;
    if (!points.insert(point_key(heat.point)).second) {
      return fail(
          "threads 0 and {} are the same on this machine, which has {} cores; leave one out", cores,
          cores);
    }
  }
  return {};
}

/// "warm", "cold" or "warm, cold": the states of the caches that the sweep's heats ask for.
std::string cache_states(const Sweep& sweep) {
  std::set<CacheState> states;
  for (const Heat& heat : sweep.heats) states.insert(heat.point.cache);
  std::string text;
  for (const CacheState state : states)
    text.append(text.empty() ? "" : ", ").append(name_of(state));
  return text;
}

/// The first CUDA device that the worker can use, as it describes it, if the sweep has heats there;
/// else null.
json device_of(const Sweep& sweep, const json& hello) {
  const auto on_cuda = [](const Heat& heat) { return heat.point.device == DeviceKind::cuda; };
  if (std::ranges::none_of(sweep.heats, on_cuda)) return {};
  const json devices = part(hello, "devices");
  for (const json& device : devices.is_array() ? devices : json::array()) {
    if (!device.is_object()) continue;
    if (part(device, "kind") == "cuda" && part(device, "available") == true) return device;
  }
  return {};
}

/// What this program, not the worker, is made of.
json libraries() {
  return {{"sqlite", sqlite_version()},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}};
}

NewRun describe_run(const Sweep& sweep, const json& hello, const std::string& command_line,
                    const json& plan, const std::string& again_of) {
  const json device = part(hello, "device");
  const json name = device.is_object() ? part(device, "name") : json();
  json provenance = {{"device", device},
                     {"measuring", {{"cache", cache_states(sweep)}}},
                     {"build", part(hello, "build")},
                     {"driver",
                      {{"version", ATTNSCOPE_VERSION},
                       {"commit", ATTNSCOPE_GIT_COMMIT},
                       {"dirty", ATTNSCOPE_GIT_DIRTY != 0},
                       {"compiler", ATTNSCOPE_COMPILER},
                       {"flags", ATTNSCOPE_FLAGS},
                       {"build_type", ATTNSCOPE_BUILD_TYPE},
                       {"libraries", libraries()}}}};
  if (!is_this_machine(hello)) provenance["worker"] = {{"elsewhere", true}};
  if (!again_of.empty()) provenance["again_of"] = again_of;
  if (!plan.is_null()) provenance["plan"] = plan;
  std::string device_name = name.is_string() ? name.get<std::string>() : "unknown device";
  if (const json cuda = device_of(sweep, hello); !cuda.is_null()) {
    provenance["cuda"] = cuda;
    if (const json cuda_name = part(cuda, "name"); cuda_name.is_string())
      device_name = cuda_name.get<std::string>();
  }
  return {.sweep_name = sweep.name,
          .sweep_text = sweep.text,
          .command_line = command_line,
          .provenance = provenance.dump(-1, ' ', false, json::error_handler_t::replace),
          .device = device_name,
          .heats_planned = static_cast<int>(sweep.heats.size()),
          .process_id = getpid(),
          .process_start_ticks = own_process_start_ticks()};
}

}  // namespace attnscope
