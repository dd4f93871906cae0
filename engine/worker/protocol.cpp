// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/protocol.h"

#include "base/json.h"
#include "base/sentences.h"
#include "engine/heat/axes.h"

namespace attnscope {

using nlohmann::json;

/// A list of values.
template <>
struct JsonValue<Sample> {
  static json write(const Sample& s) {
    const auto all = [](const auto&... values) {
      return json::array({JsonValue<std::remove_cvref_t<decltype(values)>>::write(values)...});
    };
    return all(s.process, s.placement, s.round, s.time_ns, s.iterations, s.involuntary_switches,
               s.foreign_load, s.clock_mhz, s.temperature_c, s.throttled, s.cpu_ns, s.waited_ns,
               s.power_w);
  }
  static Sample read(const JsonField& f) {
    constexpr std::size_t fields = 13;
    const std::vector<JsonField> s = f.elements();
    // Workers from before `power_w` send 12.
    const bool has_power = s.size() == fields;
    if (!has_power && s.size() != fields - 1) f.must_be(fmt::format("a list of {} values", fields));
    const auto real = JsonValue<double>::read;
    const auto real_or_null = [](const JsonField& field) {
      return JsonValue<std::optional<double>>::read(field);
    };
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
            .waited_ns = real_or_null(s[11]),
            .power_w = has_power ? real_or_null(s[12]) : std::nullopt};
  }
};

namespace {

struct ContenderFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("pattern", self.pattern);
    field("implementation", self.implementation);
    field("window", self.window);
    field("name", self.name);
    field("pattern_json", self.pattern_json);
    field.or_default("model", self.model);
  }
};

struct StopRuleFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("relative_interval", self.relative_interval);
    field("max_seconds", self.max_seconds);
    field("min_samples", self.min_samples, 1);
    field("placements", self.placements, 1);
    field("processes", self.processes, 1);
  }
};

struct HeatFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("index", self.index, 0);
    field("point", self.point);
    field("contenders", self.contenders);
    field("stop", self.stop);
  }
};

struct CellMemoryFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("requested_bytes", self.requested_bytes);
    field("reserved_bytes", self.reserved_bytes);
    field("workspace_bytes", self.workspace_bytes);
    field("process_peak_bytes", self.process_peak_bytes);
    field.or_default("cache_bytes", self.cache_bytes);
  }
};

struct CellWorkFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("useful_flop", self.useful_flop);
    field("least_bytes", self.least_bytes);
    field("exponentials", self.exponentials);
    field("executed_flop", self.executed_flop);
    field("executed_bytes", self.executed_bytes);
  }
};

struct CellFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("contender", self.contender);
    field("status", self.status);
    field("reason", self.reason);
    field("batch", self.batch, 0);
    field("query_tokens", self.query_tokens, 0);
    field("document_tokens", self.document_tokens, 0);
    field("samples", self.samples);
    field("relative_error", self.relative_error);
    field("error_bound", self.error_bound);
    field("memory", self.memory);
    field("work", self.work);
    field("settled", self.settled);
    field.or_default("parts", self.parts);
    field.or_default("disturbed_by", self.disturbed_by);
  }
};

struct HeatResultFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("heat_index", self.heat_index, 0);
    field("point", self.point);
    field("cells", self.cells);
  }
};

struct CopyFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("working_set_bytes", self.working_set_bytes, 0);
    field("bytes_per_second", self.bytes_per_second);
  }
};

struct CeilingsFields {
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("threads", self.threads, 0);
    field("flop_per_second", self.flop_per_second);
    field("exponentials_per_second", self.exponentials_per_second);
    field("copy", self.copy);
    field("seconds_into_run", self.seconds_into_run);
    field("device", self.device);
    field("tensor_flop_per_second", self.tensor_flop_per_second);
  }
};

}  // namespace

template <>
struct JsonValue<CellMemory> : ListedJsonValue<CellMemory, CellMemoryFields> {};
template <>
struct JsonValue<CellWork> : ListedJsonValue<CellWork, CellWorkFields> {};
template <>
struct JsonValue<Ceilings::Copy> : ListedJsonValue<Ceilings::Copy, CopyFields> {};

json JsonValue<HeatPoint>::write(const HeatPoint& point) {
  json all = json::object();
  for (const Axis& axis : heat_axes) all[axis.key] = json_of(axis, point);
  return all;
}

// Axes that add nothing at their default may be missing; an axis that does not belong to the
// point's operation must have its default value if present.
HeatPoint JsonValue<HeatPoint>::read(const JsonField& f) {
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

json JsonValue<PartTime>::write(const PartTime& part) {
  return json::array({part.name, JsonValue<double>::write(part.time_ns),
                      JsonValue<double>::write(part.useful_flop)});
}
PartTime JsonValue<PartTime>::read(const JsonField& field) {
  const std::vector<JsonField> p = field.elements();
  if (p.size() != 3) field.must_be("a part's name, nanoseconds and FLOP");
  return {.name = p[0].text(),
          .time_ns = JsonValue<double>::read(p[1]),
          .useful_flop = JsonValue<double>::read(p[2])};
}

json JsonValue<Contender>::write(const Contender& contender) {
  return as_json<Contender, ContenderFields>(contender);
}
Contender JsonValue<Contender>::read(const JsonField& field) {
  return read_fields<Contender, ContenderFields>(field);
}

json JsonValue<StopRule>::write(const StopRule& rule) {
  return as_json<StopRule, StopRuleFields>(rule);
}
StopRule JsonValue<StopRule>::read(const JsonField& field) {
  return read_fields<StopRule, StopRuleFields>(field);
}

json JsonValue<Heat>::write(const Heat& heat) {
  return as_json<Heat, HeatFields>(heat);
}
Heat JsonValue<Heat>::read(const JsonField& field) {
  return read_fields<Heat, HeatFields>(field);
}

json JsonValue<Cell>::write(const Cell& cell) {
  return as_json<Cell, CellFields>(cell);
}
Cell JsonValue<Cell>::read(const JsonField& field) {
  return read_fields<Cell, CellFields>(field);
}

json JsonValue<HeatResult>::write(const HeatResult& result) {
  return as_json<HeatResult, HeatResultFields>(result);
}
HeatResult JsonValue<HeatResult>::read(const JsonField& field) {
  return read_fields<HeatResult, HeatResultFields>(field);
}

json JsonValue<Ceilings>::write(const Ceilings& ceilings) {
  return as_json<Ceilings, CeilingsFields>(ceilings);
}
Ceilings JsonValue<Ceilings>::read(const JsonField& field) {
  return read_fields<Ceilings, CeilingsFields>(field);
}

}  // namespace attnscope

namespace attnscope::protocol {

using nlohmann::json;

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
