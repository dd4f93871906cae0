// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/protocol.h"

#include "base/json.h"
#include "base/sentences.h"
#include "engine/heat/axes.h"

namespace attnscope::protocol {
namespace {

using nlohmann::json;

json number(double value) {
  return JsonValue<double>::write(value);
}

json number(const std::optional<double>& value) {
  return JsonValue<std::optional<double>>::write(value);
}

json to_json(const Sample& s) {
  return json::array({s.process, s.placement, s.round, number(s.time_ns), s.iterations,
                      s.involuntary_switches, number(s.foreign_load), number(s.clock_mhz),
                      number(s.temperature_c), s.throttled, number(s.cpu_ns), number(s.waited_ns)});
}

json to_json(const CellMemory& memory) {
  return {{"requested_bytes", memory.requested_bytes},
          {"reserved_bytes", memory.reserved_bytes},
          {"workspace_bytes", memory.workspace_bytes},
          {"process_peak_bytes",
           memory.process_peak_bytes ? json(*memory.process_peak_bytes) : json(nullptr)},
          {"cache_bytes", memory.cache_bytes ? json(*memory.cache_bytes) : json(nullptr)}};
}

json to_json(const CellWork& work) {
  return {{"useful_flop", number(work.useful_flop)},
          {"least_bytes", number(work.least_bytes)},
          {"exponentials", number(work.exponentials)},
          {"executed_flop", number(work.executed_flop)},
          {"executed_bytes", number(work.executed_bytes)}};
}

double real(const JsonField& field) {
  return JsonValue<double>::read(field);
}

std::optional<double> real_or_null(const JsonField& field) {
  return JsonValue<std::optional<double>>::read(field);
}

template <typename Each>
auto list(const JsonField& field, Each each) {
  std::vector<decltype(each(field))> all;
  for (const JsonField& element : field.elements()) all.push_back(each(element));
  return all;
}

Contender read_contender(const JsonField& f) {
  Contender c{.pattern = f["pattern"].text(),
              .implementation = f["implementation"].text(),
              .window = std::nullopt,
              .name = f["name"].text(),
              .pattern_json = f["pattern_json"].text(),
              .model = f.text_or("model", "")};
  if (const JsonField window = f["window"]; !window.is_null()) {
    c.window = window.take(parse_window(window.text()));
  }
  return c;
}

/// Axes that add nothing at their default may be omitted; an axis that does not belong to the
/// point's operation must have its default value if present.
HeatPoint read_one_point(const JsonField& f) {
  HeatPoint point;
  for (const Axis& axis : heat_axes) {
    if (axis.at_default == Axis::Default::neutral) {
      const auto field = f.member(axis.key);
      if (!field || field->value() == json_of(axis, HeatPoint{})) continue;
    }
    axis.set(point, read_value(axis, f[axis.key]));
  }
  return point;
}

StopRule read_stop(const JsonField& f) {
  return {.relative_interval = real(f["relative_interval"]),
          .max_seconds = real(f["max_seconds"]),
          .min_samples = f["min_samples"].whole<int>(1),
          .placements = f["placements"].whole<int>(1),
          .processes = f["processes"].whole<int>(1)};
}

Sample read_sample(const JsonField& f) {
  constexpr std::size_t fields = 12;
  const std::vector<JsonField> s = f.elements();
  if (s.size() != fields) f.must_be(fmt::format("a list of {} values", fields));
  return {.process = s[0].whole<int>(0),
          .placement = s[1].whole<int>(0),
          .round = s[2].whole<int>(0),
          .time_ns = real(s[3]),
          .iterations = s[4].whole<int>(1),
          .involuntary_switches = s[5].whole(),
          .foreign_load = real(s[6]),
          .clock_mhz = real_or_null(s[7]),
          .temperature_c = real_or_null(s[8]),
          .throttled = s[9].truth(),
          .cpu_ns = real_or_null(s[10]),
          .waited_ns = real_or_null(s[11])};
}

PartTime read_part(const JsonField& f) {
  const std::vector<JsonField> p = f.elements();
  if (p.size() != 3) f.must_be("a part's name, nanoseconds and FLOP");
  return {.name = p[0].text(), .time_ns = real(p[1]), .useful_flop = real(p[2])};
}

std::vector<PartTime> read_all_parts(const JsonField& f) {
  return list(f, read_part);
}

CellMemory read_memory(const JsonField& f) {
  const JsonField process_peak = f["process_peak_bytes"];
  const auto cache = f.member("cache_bytes");
  return {.requested_bytes = f["requested_bytes"].whole(),
          .reserved_bytes = f["reserved_bytes"].whole(),
          .workspace_bytes = f["workspace_bytes"].whole(),
          .process_peak_bytes =
              process_peak.is_null() ? std::nullopt : std::optional(process_peak.whole()),
          .cache_bytes = !cache || cache->is_null() ? std::nullopt : std::optional(cache->whole())};
}

CellWork read_work(const JsonField& f) {
  return {.useful_flop = real(f["useful_flop"]),
          .least_bytes = real(f["least_bytes"]),
          .exponentials = real(f["exponentials"]),
          .executed_flop = real(f["executed_flop"]),
          .executed_bytes = real(f["executed_bytes"])};
}

Cell read_cell(const JsonField& f) {
  const JsonField status = f["status"];
  const auto parts = f.member("parts");
  return {.contender = read_contender(f["contender"]),
          .status = status.take(parse_cell_status(status.text())),
          .reason = f["reason"].text(),
          .batch = f["batch"].whole(0),
          .query_tokens = f["query_tokens"].whole(0),
          .document_tokens = f["document_tokens"].whole(0),
          .samples = list(f["samples"], read_sample),
          .relative_error = real_or_null(f["relative_error"]),
          .error_bound = real_or_null(f["error_bound"]),
          .memory = read_memory(f["memory"]),
          .work = read_work(f["work"]),
          .settled = f["settled"].truth(),
          .parts = parts ? read_all_parts(*parts) : std::vector<PartTime>(),
          .disturbed_by = f.text_or("disturbed_by", "")};
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
  json all = json::object();
  for (const Axis& axis : heat_axes) all[axis.key] = json_of(axis, point);
  return all;
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

json to_json(const std::vector<PartTime>& parts) {
  json list = json::array();
  for (const PartTime& part : parts)
    list.push_back(json::array({part.name, number(part.time_ns), number(part.useful_flop)}));
  return list;
}

json to_json(const Cell& cell) {
  json samples = json::array();
  for (const Sample& sample : cell.samples) samples.push_back(to_json(sample));
  json all = {{"contender", to_json(cell.contender)},
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
              {"settled", cell.settled},
              {"parts", to_json(cell.parts)}};
  if (!cell.disturbed_by.empty()) all["disturbed_by"] = cell.disturbed_by;
  return all;
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
  for (const Ceilings::Copy& entry : ceilings.copy) {
    copy.push_back({{"working_set_bytes", entry.working_set_bytes},
                    {"bytes_per_second", number(entry.bytes_per_second)}});
  }
  return {{"threads", ceilings.threads},
          {"flop_per_second", number(ceilings.flop_per_second)},
          {"exponentials_per_second", number(ceilings.exponentials_per_second)},
          {"copy", std::move(copy)},
          {"seconds_into_run", number(ceilings.seconds_into_run)},
          {"device", name_of(ceilings.device)},
          {"tensor_flop_per_second", number(ceilings.tensor_flop_per_second)}};
}

Result<HeatPoint> read_point(const json& value) {
  return read_json(value, "point", read_one_point);
}

Result<std::vector<PartTime>> read_parts(const json& value) {
  return read_json(value, "parts", read_all_parts);
}

Heat heat_in(const JsonField& f) {
  return {.index = f["index"].whole<int>(0),
          .point = read_one_point(f["point"]),
          .contenders = list(f["contenders"], read_contender),
          .stop = read_stop(f["stop"])};
}

HeatResult heat_result_in(const JsonField& f) {
  return {.heat_index = f["heat_index"].whole<int>(0),
          .point = read_one_point(f["point"]),
          .cells = list(f["cells"], read_cell)};
}

Ceilings ceilings_in(const JsonField& f) {
  const JsonField device = f["device"];
  const auto read_copy = [](const JsonField& copy) {
    return Ceilings::Copy{copy["working_set_bytes"].whole(0), real(copy["bytes_per_second"])};
  };
  return {.threads = f["threads"].whole<int>(0),
          .flop_per_second = real(f["flop_per_second"]),
          .exponentials_per_second = real(f["exponentials_per_second"]),
          .copy = list(f["copy"], read_copy),
          .seconds_into_run = real(f["seconds_into_run"]),
          .device = device.take(parse_device(device.text())),
          .tensor_flop_per_second = real(f["tensor_flop_per_second"])};
}

Result<Heat> read_heat(const json& value) {
  return read_json(value, "heat", heat_in);
}

Result<HeatResult> read_heat_result(const json& value) {
  return read_json(value, "result", heat_result_in);
}

Result<Ceilings> read_ceilings(const json& value) {
  return read_json(value, "ceilings", ceilings_in);
}

Result<json> parse_line(std::string_view line) {
  constexpr std::size_t shown = 80;
  if (Status bounded = check_json_size(line); !bounded)
    return fail("the line {}: {}", bounded.error().message, in_a_sentence(line, shown));
  json parsed = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    return fail("expected one JSON object on the line, found: {}", in_a_sentence(line, shown));
  }
  return parsed;
}

std::string write_line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<int> cores_of(const json& device) {
  const auto reported = device.is_object() ? device.find("cores") : device.end();
  if (reported == device.end() || !reported->is_number_integer()) return std::nullopt;
  // A sweep may request that many threads, each with its own core.
  static const std::int64_t most = find_axis("threads")->most;
  if (reported->is_number_unsigned() &&
      reported->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    return std::nullopt;
  const auto cores = reported->get<std::int64_t>();
  return cores >= 1 && cores <= most ? std::optional(static_cast<int>(cores)) : std::nullopt;
}

}  // namespace attnscope::protocol
