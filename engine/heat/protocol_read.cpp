// SPDX-License-Identifier: Apache-2.0
//
// The reading half of the protocol: JSON to structs, with one sentence for what does not fit.
#include <cmath>
#include <limits>
#include <utility>

#include "engine/heat/protocol.h"
#include "kernels/base/sentences.h"

namespace attnscope::protocol {
namespace {

using nlohmann::json;

// Leaves a deeply nested reader at once; never crosses this file's border.
struct Malformed {
  std::string message;
};

constexpr int max_depth = 64;  // far beyond any message of ours, far below the stack
constexpr std::size_t shown = 80;

/// Whether brackets outside texts stand in more than max_depth others. Many functions of the JSON
/// library follow the nesting with the stack.
bool is_deep(std::string_view line) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// A value together with the words that say where it stands.
class Reader {
 public:
  Reader(const json& value, std::string path) : value_(value), path_(std::move(path)) {}

  [[nodiscard]] Reader operator[](const char* field) const {
    if (!value_.is_object()) complain("an object");
    const auto found = value_.find(field);
    if (found == value_.end()) {
      throw Malformed{fmt::format("the protocol message has no field '{}.{}'", path_, field)};
    }
    return {*found, path_ + "." + field};
  }
  [[nodiscard]] bool is_null() const { return value_.is_null(); }
  [[nodiscard]] bool has(const char* field) const { return value_.contains(field); }

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) complain("a text");
    return value_.get<std::string>();
  }
  [[nodiscard]] bool truth() const {
    if (!value_.is_boolean()) complain("true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] double number() const {
    if (value_.is_number()) return value_.get<double>();
    if (value_ == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value_ == "inf") return std::numeric_limits<double>::infinity();
    if (value_ == "-inf") return -std::numeric_limits<double>::infinity();
    complain("a number");
  }
  [[nodiscard]] std::optional<double> number_or_null() const {
    return is_null() ? std::nullopt : std::optional(number());
  }
  template <typename Int>
  [[nodiscard]] Int whole(std::int64_t least = std::numeric_limits<Int>::min()) const {
    if (!value_.is_number_integer()) complain("a whole number");
    const bool too_big =
        value_.is_number_unsigned() && !std::in_range<std::int64_t>(value_.get<std::uint64_t>());
    if (too_big || !std::in_range<Int>(value_.get<std::int64_t>()) ||
        value_.get<std::int64_t>() < least) {
      complain(fmt::format("a whole number from {} to {}", least, std::numeric_limits<Int>::max()));
    }
    return value_.get<Int>();
  }
  [[nodiscard]] std::uint64_t seed() const {
    if (!value_.is_number_unsigned() && !(value_.is_number_integer() && value_ >= 0)) {
      complain("a whole number >= 0");
    }
    return value_.get<std::uint64_t>();
  }
  template <typename Parse>
  [[nodiscard]] auto named(Parse parse) const {
    const auto parsed = parse(text());
    if (!parsed) {
      throw Malformed{
          fmt::format("'{}' in the protocol message: {}", path_, parsed.error().message)};
    }
    return *parsed;
  }
  template <typename Each>
  [[nodiscard]] auto list(Each each) const {
    if (!value_.is_array()) complain("a list");
    std::vector<decltype(each(*this))> out;
    out.reserve(value_.size());
    for (std::size_t i = 0; i < value_.size(); ++i) {
      out.push_back(each(Reader(value_[i], fmt::format("{}[{}]", path_, i))));
    }
    return out;
  }
  [[nodiscard]] Reader at(std::size_t i, std::size_t expected_size) const {
    if (!value_.is_array() || value_.size() != expected_size) {
      complain(fmt::format("a list of {} values", expected_size));
    }
    return {value_[i], fmt::format("{}[{}]", path_, i)};
  }

 private:
  [[noreturn]] void complain(const std::string& expected) const {
    throw Malformed{fmt::format(
        "'{}' in the protocol message must be {}, not {}", path_, expected,
        in_a_sentence(value_.dump(-1, ' ', false, json::error_handler_t::replace), shown))};
  }

  const json& value_;
  std::string path_;
};

Contender contender(const Reader& r) {
  Contender c;
  c.pattern = r["pattern"].text();
  c.implementation = r["implementation"].text();
  if (!r["window"].is_null()) c.window = r["window"].named(parse_window);
  c.name = r["name"].text();
  c.pattern_json = r["pattern_json"].text();
  c.model = r["model"].text();
  return c;
}

HeatPoint point(const Reader& r) {
  HeatPoint p;
  p.operation = r["operation"].named(parse_operation);
  p.direction = r["direction"].named(parse_direction);
  p.sequence_tokens = r["sequence_tokens"].whole<std::int64_t>(1);
  p.query_tokens = r["query_tokens"].whole<std::int64_t>(0);
  p.shared_query = r["shared_query"].truth();
  p.documents = r["documents"].whole<std::int64_t>(1);
  p.batch_max = r["batch_max"].whole<std::int64_t>(1);
  p.batch_memory_mb = r["batch_memory_mb"].whole<std::int64_t>(1);
  p.batch_per_contender = r["batch_per_contender"].truth();
  p.heads = r["heads"].whole<std::int64_t>(1);
  p.head_dim = r["head_dim"].whole<std::int64_t>(1);
  p.layers = r["layers"].whole<std::int64_t>(0);
  p.feed_forward = r["feed_forward"].whole<std::int64_t>(0);
  p.dtype = r["dtype"].named(parse_dtype);
  p.memory_order = r["memory_order"].named(parse_memory_order);
  p.cache = r["cache"].named(parse_cache);
  p.device = r["device"].named(parse_device);
  p.threads = r["threads"].whole<int>(0);
  p.seed = r["seed"].seed();
  return p;
}

StopRule stop_rule(const Reader& r) {
  StopRule s;
  s.relative_interval = r["relative_interval"].number();
  s.max_seconds = r["max_seconds"].number();
  s.min_samples = r["min_samples"].whole<int>(1);
  s.placements = r["placements"].whole<int>(1);
  s.processes = r["processes"].whole<int>(1);
  return s;
}

Heat heat(const Reader& r) {
  Heat h;
  h.index = r["index"].whole<int>(0);
  h.point = point(r["point"]);
  h.contenders = r["contenders"].list(contender);
  h.stop = stop_rule(r["stop"]);
  return h;
}

Sample sample(const Reader& r) {
  constexpr std::size_t fields = 10;
  Sample s;
  s.process = r.at(0, fields).whole<int>(0);
  s.placement = r.at(1, fields).whole<int>(0);
  s.round = r.at(2, fields).whole<int>(0);
  s.time_ns = r.at(3, fields).number();
  s.iterations = r.at(4, fields).whole<int>(1);
  s.involuntary_switches = r.at(5, fields).whole<std::int64_t>();
  s.foreign_load = r.at(6, fields).number();
  s.clock_mhz = r.at(7, fields).number_or_null();
  s.temperature_c = r.at(8, fields).number_or_null();
  s.throttled = r.at(9, fields).truth();
  return s;
}

Cell cell(const Reader& r) {
  Cell c;
  c.contender = contender(r["contender"]);
  c.status = r["status"].named(parse_cell_status);
  c.reason = r["reason"].text();
  c.batch = r["batch"].whole<std::int64_t>(0);
  c.query_tokens = r["query_tokens"].whole<std::int64_t>(0);
  c.document_tokens = r["document_tokens"].whole<std::int64_t>(0);
  c.samples = r["samples"].list(sample);
  c.relative_error = r["relative_error"].number_or_null();
  c.error_bound = r["error_bound"].number_or_null();
  const Reader memory = r["memory"];
  c.memory.requested_bytes = memory["requested_bytes"].whole<std::int64_t>();
  c.memory.reserved_bytes = memory["reserved_bytes"].whole<std::int64_t>();
  c.memory.workspace_bytes = memory["workspace_bytes"].whole<std::int64_t>();
  const Reader process_peak = memory["process_peak_bytes"];
  if (!process_peak.is_null()) c.memory.process_peak_bytes = process_peak.whole<std::int64_t>();
  const Reader work = r["work"];
  c.work.useful_flop = work["useful_flop"].number();
  c.work.least_bytes = work["least_bytes"].number();
  c.work.exponentials = work["exponentials"].number();
  c.work.executed_flop = work["executed_flop"].number();
  c.work.executed_bytes = work["executed_bytes"].number();
  c.settled = r["settled"].truth();
  return c;
}

HeatResult heat_result(const Reader& r) {
  HeatResult h;
  h.heat_index = r["heat_index"].whole<int>(0);
  h.point = point(r["point"]);
  h.cells = r["cells"].list(cell);
  return h;
}

HeatRequest heat_request(const Reader& r) {
  HeatRequest request;
  request.heat = heat(r["heat"]);
  request.process = r["process"].whole<int>(0);
  request.placements = r["placements"].list([](const Reader& one) { return one.whole<int>(0); });
  return request;
}

Ceilings ceilings(const Reader& r) {
  Ceilings c;
  c.threads = r["threads"].whole<int>(0);
  c.flop_per_second = r["flop_per_second"].number();
  c.exponentials_per_second = r["exponentials_per_second"].number();
  c.copy = r["copy"].list([](const Reader& one) {
    return Ceilings::Copy{one["working_set_bytes"].whole<std::int64_t>(0),
                          one["bytes_per_second"].number()};
  });
  c.seconds_into_run = r["seconds_into_run"].number();
  // Workers that know only the processor do not tell.
  if (r.has("device")) c.device = r["device"].named(parse_device);
  if (r.has("tensor_flop_per_second")) {
    c.tensor_flop_per_second = r["tensor_flop_per_second"].number();
  }
  return c;
}

template <typename Convert>
auto read(const json& value, const char* name, Convert convert)
    -> Result<decltype(convert(Reader(value, name)))> {
  try {
    return convert(Reader(value, name));
  } catch (const Malformed& malformed) {
    return fail("{}", malformed.message);
  }
}

}  // namespace

Result<HeatPoint> read_point(const json& value) {
  return read(value, "point", point);
}
Result<Heat> read_heat(const json& value) {
  return read(value, "heat", heat);
}
Result<HeatRequest> read_heat_request(const json& value) {
  return read(value, "request", heat_request);
}
Result<HeatResult> read_heat_result(const json& value) {
  return read(value, "result", heat_result);
}
Result<Ceilings> read_ceilings(const json& value) {
  return read(value, "ceilings", ceilings);
}

Result<json> parse_line(std::string_view line) {
  if (is_deep(line)) {
    return fail("the line is nested deeper than {} levels: {}", max_depth,
                in_a_sentence(line, shown));
  }
  json parsed = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    return fail("expected one JSON object on the line, found: {}", in_a_sentence(line, shown));
  }
  return parsed;
}

}  // namespace attnscope::protocol
