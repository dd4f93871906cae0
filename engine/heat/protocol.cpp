// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/protocol.h"

#include <cmath>

namespace attnscope::protocol {
namespace {

using nlohmann::json;

// JSON has no infinities and no NaN, but the error of a wrong output may be either.
json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

json number(const std::optional<double>& value) {
  return value ? number(*value) : json(nullptr);
}

json to_json(const Sample& s) {
  return json::array({s.process, s.placement, s.round, number(s.time_ns), s.iterations,
                      s.involuntary_switches, number(s.foreign_load), number(s.clock_mhz),
                      number(s.temperature_c), s.throttled});
}

json to_json(const CellMemory& memory) {
  return {{"requested_bytes", memory.requested_bytes},
          {"reserved_bytes", memory.reserved_bytes},
          {"workspace_bytes", memory.workspace_bytes},
          {"process_peak_bytes",
           memory.process_peak_bytes ? json(*memory.process_peak_bytes) : json(nullptr)}};
}

json to_json(const CellWork& work) {
  return {{"useful_flop", number(work.useful_flop)},
          {"least_bytes", number(work.least_bytes)},
          {"exponentials", number(work.exponentials)},
          {"executed_flop", number(work.executed_flop)},
          {"executed_bytes", number(work.executed_bytes)}};
}

}  // namespace

json to_json(const Contender& contender) {
  return {{"pattern", contender.pattern},
          {"implementation", contender.implementation},
          {"window", contender.window ? json(contender.window->text()) : json(nullptr)},
          {"name", contender.name},
          {"pattern_json", contender.pattern_json},
          {"model", contender.model}};
}

json to_json(const HeatPoint& point) {
  return {{"operation", name_of(point.operation)},
          {"direction", name_of(point.direction)},
          {"sequence_tokens", point.sequence_tokens},
          {"query_tokens", point.query_tokens},
          {"shared_query", point.shared_query},
          {"documents", point.documents},
          {"batch_max", point.batch_max},
          {"batch_memory_mb", point.batch_memory_mb},
          {"batch_per_contender", point.batch_per_contender},
          {"heads", point.heads},
          {"head_dim", point.head_dim},
          {"layers", point.layers},
          {"feed_forward", point.feed_forward},
          {"dtype", name_of(point.dtype)},
          {"memory_order", name_of(point.memory_order)},
          {"cache", name_of(point.cache)},
          {"device", name_of(point.device)},
          {"threads", point.threads},
          {"seed", point.seed}};
}

json to_json(const StopRule& stop) {
  return {{"relative_interval", number(stop.relative_interval)},
          {"max_seconds", number(stop.max_seconds)},
          {"min_samples", stop.min_samples},
          {"placements", stop.placements},
          {"processes", stop.processes}};
}

json to_json(const Heat& heat) {
  json contenders = json::array();
  for (const Contender& contender : heat.contenders) contenders.push_back(to_json(contender));
  return {{"index", heat.index},
          {"point", to_json(heat.point)},
          {"contenders", std::move(contenders)},
          {"stop", to_json(heat.stop)}};
}

json to_json(const HeatRequest& request) {
  return {{"request", "heat"},
          {"heat", to_json(request.heat)},
          {"process", request.process},
          {"placements", request.placements}};
}

json to_json(const Cell& cell) {
  json samples = json::array();
  for (const Sample& sample : cell.samples) samples.push_back(to_json(sample));
  return {{"contender", to_json(cell.contender)},
          {"status", name_of(cell.status)},
          {"reason", cell.reason},
          {"batch", cell.batch},
          {"query_tokens", cell.query_tokens},
          {"document_tokens", cell.document_tokens},
          {"samples", std::move(samples)},
          {"relative_error", number(cell.relative_error)},
          {"error_bound", number(cell.error_bound)},
          {"memory", to_json(cell.memory)},
          {"work", to_json(cell.work)},
          {"settled", cell.settled}};
}

json to_json(const HeatResult& result) {
  json cells = json::array();
  for (const Cell& cell : result.cells) cells.push_back(to_json(cell));
  return {{"heat_index", result.heat_index},
          {"point", to_json(result.point)},
          {"cells", std::move(cells)}};
}

json to_json(const Ceilings& ceilings) {
  json copy = json::array();
  for (const Ceilings::Copy& one : ceilings.copy) {
    copy.push_back({{"working_set_bytes", one.working_set_bytes},
                    {"bytes_per_second", number(one.bytes_per_second)}});
  }
  return {{"threads", ceilings.threads},
          {"flop_per_second", number(ceilings.flop_per_second)},
          {"exponentials_per_second", number(ceilings.exponentials_per_second)},
          {"copy", std::move(copy)},
          {"seconds_into_run", number(ceilings.seconds_into_run)},
          {"device", name_of(ceilings.device)},
          {"tensor_flop_per_second", number(ceilings.tensor_flop_per_second)}};
}

std::string write_line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace attnscope::protocol
