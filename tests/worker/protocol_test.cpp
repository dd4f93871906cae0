// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/heat/axes.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// Values of every kind that a protocol message may hold, the edges among them.
class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}

  std::int64_t whole(std::int64_t least = 0) {
    const std::int64_t edges[] = {least, least + 1, std::numeric_limits<std::int64_t>::max()};
    if (below(4) == 0) return edges[below(3)];
    return std::uniform_int_distribution<std::int64_t>(least, 1'000'000)(bits_);
  }
  int small(int least = 0) {
    return below(8) == 0 ? std::numeric_limits<int>::max()
                         : std::uniform_int_distribution<int>(least, 1000)(bits_);
  }
  double real() {
    const double edges[] = {0,
                            1e-308,
                            1e308,
                            0.1,
                            1.0 / 3.0,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
    if (below(3) == 0) return edges[below(7)];
    return std::uniform_real_distribution<double>(-1e9, 1e9)(bits_);
  }
  std::optional<double> maybe_real() {
    return below(3) == 0 ? std::nullopt : std::optional(real());
  }
  std::string text() {
    const char* const texts[] = {"",   "sparse", "a \"quoted\"\nline", "\xC3\xBC\xE2\x82\xAC",
                                 "\\", "null"};
    return texts[below(6)];
  }
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(bits_);
  }
  bool truth() { return below(2) == 0; }

 private:
  std::mt19937 bits_;
};

Contender random_contender(Random& r) {
  std::optional<Window> window;
  if (r.truth()) window = r.truth() ? Window::infinite() : Window::of(r.whole() % widest_window);
  return {.pattern = r.text(),
          .implementation = r.text(),
          .window = window,
          .name = r.text(),
          .pattern_json = r.text(),
          .model = r.text()};
}

HeatPoint random_point(Random& r) {
  HeatPoint point;
  for (const Axis& axis : heat_axes) {
    if (axis.kind == Axis::Kind::lengths) continue;
    const std::int64_t count = axis.kind == Axis::Kind::truth ? 2 : axis.words;
    axis.set(point, axis.kind == Axis::Kind::number
                        ? axis.least + r.whole() % (axis.most - axis.least)
                        : r.whole() % count);
  }
  const std::int64_t median = r.whole(1) % 1000 + 1;
  if (r.truth()) point.document_lengths = {median, median + 1 + r.whole() % 1000, 1 + median / 2};
  return point;
}

Heat random_heat(Random& r) {
  Heat heat{.index = r.small(), .point = random_point(r), .contenders = {}, .stop = {}};
  for (std::size_t i = r.below(4); i > 0; --i) heat.contenders.push_back(random_contender(r));
  heat.stop = {.relative_interval = r.real(),
               .max_seconds = r.real(),
               .min_samples = r.small(1),
               .placements = r.small(1),
               .processes = r.small(1)};
  return heat;
}

Cell random_cell(Random& r) {
  Cell cell;
  cell.contender = random_contender(r);
  cell.status = static_cast<CellStatus>(r.below(7));
  cell.reason = r.text();
  cell.batch = r.whole();
  cell.query_tokens = r.whole();
  cell.document_tokens = r.whole();
  for (std::size_t i = r.below(5); i > 0; --i) {
    cell.samples.push_back({.process = r.small(),
                            .placement = r.small(),
                            .round = r.small(),
                            .time_ns = r.real(),
                            .iterations = r.small(1),
                            .involuntary_switches = r.whole(),
                            .foreign_load = r.real(),
                            .clock_mhz = r.maybe_real(),
                            .temperature_c = r.maybe_real(),
                            .throttled = r.truth(),
                            .cpu_ns = r.maybe_real(),
                            .waited_ns = r.maybe_real(),
                            .power_w = r.maybe_real()});
  }
  cell.relative_error = r.maybe_real();
  cell.error_bound = r.maybe_real();
  cell.memory = {r.whole(), r.whole(), r.whole(), std::nullopt};
  if (r.truth()) cell.memory.process_peak_bytes = r.whole();
  if (r.truth()) cell.memory.cache_bytes = r.whole();
  cell.work = {r.real(), r.real(), r.real(), r.real(), r.real()};
  cell.settled = r.truth();
  if (r.truth()) cell.parts = {{"embeddings", r.real(), 0}, {"attention", r.real(), r.real()}};
  if (r.truth()) cell.disturbed_by = "run 'other'";
  return cell;
}

void expect_equal(const Heat& a, const Heat& b) {
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.point, b.point);
  EXPECT_EQ(a.contenders, b.contenders);
  EXPECT_EQ(a.stop, b.stop);
}

void expect_equal(const Sample& a, const Sample& b) {
  EXPECT_EQ(a.process, b.process);
  EXPECT_EQ(a.placement, b.placement);
  EXPECT_EQ(a.round, b.round);
  EXPECT_EQ(a.time_ns, b.time_ns);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.involuntary_switches, b.involuntary_switches);
  EXPECT_EQ(a.foreign_load, b.foreign_load);
  EXPECT_EQ(a.clock_mhz, b.clock_mhz);
  EXPECT_EQ(a.temperature_c, b.temperature_c);
  EXPECT_EQ(a.throttled, b.throttled);
  EXPECT_EQ(a.cpu_ns, b.cpu_ns);
  EXPECT_EQ(a.waited_ns, b.waited_ns);
  EXPECT_EQ(a.power_w, b.power_w);
}

void expect_equal(const Cell& a, const Cell& b) {
  EXPECT_EQ(a.contender, b.contender);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.query_tokens, b.query_tokens);
  EXPECT_EQ(a.document_tokens, b.document_tokens);
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) expect_equal(a.samples[i], b.samples[i]);
  EXPECT_EQ(a.relative_error, b.relative_error);
  EXPECT_EQ(a.error_bound, b.error_bound);
  EXPECT_EQ(a.memory.requested_bytes, b.memory.requested_bytes);
  EXPECT_EQ(a.memory.reserved_bytes, b.memory.reserved_bytes);
  EXPECT_EQ(a.memory.workspace_bytes, b.memory.workspace_bytes);
  EXPECT_EQ(a.memory.process_peak_bytes, b.memory.process_peak_bytes);
  EXPECT_EQ(a.memory.cache_bytes, b.memory.cache_bytes);
  ASSERT_EQ(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    EXPECT_EQ(a.parts[i].name, b.parts[i].name);
    EXPECT_EQ(a.parts[i].time_ns, b.parts[i].time_ns);
    EXPECT_EQ(a.parts[i].useful_flop, b.parts[i].useful_flop);
  }
  EXPECT_EQ(a.work.useful_flop, b.work.useful_flop);
  EXPECT_EQ(a.work.least_bytes, b.work.least_bytes);
  EXPECT_EQ(a.work.exponentials, b.work.exponentials);
  EXPECT_EQ(a.work.executed_flop, b.work.executed_flop);
  EXPECT_EQ(a.work.executed_bytes, b.work.executed_bytes);
  EXPECT_EQ(a.settled, b.settled);
  EXPECT_EQ(a.disturbed_by, b.disturbed_by);
}

// Through the text of a line, as between two processes.
json over_the_wire(const json& message) {
  const std::string line = protocol::write_line(message);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  return *protocol::parse_line(std::string_view(line).substr(0, line.size() - 1));
}

constexpr unsigned rounds = 300;

TEST(Protocol, HeatRequestsAreReadAsTheyWereWritten) {
  for (unsigned seed = 0; seed < rounds; ++seed) {
    Random r(seed);
    const protocol::HeatRequest sent{
        .heat = random_heat(r), .process = r.small(), .placements = {r.small(), r.small()}};
    const json message = over_the_wire(protocol::as_request(sent));
    EXPECT_EQ(message.at("request"), "heat");
    const auto received = protocol::read_message<protocol::HeatRequest>(message);
    ASSERT_TRUE(received) << received.error().message;
    expect_equal(received->heat, sent.heat);
    EXPECT_EQ(received->process, sent.process);
    EXPECT_EQ(received->placements, sent.placements);
  }
}

TEST(Protocol, HeatResultsAreReadAsTheyWereWritten) {
  for (unsigned seed = 0; seed < rounds; ++seed) {
    Random r(seed);
    HeatResult sent{.heat_index = r.small(), .point = random_point(r), .cells = {}};
    for (std::size_t i = r.below(4); i > 0; --i) sent.cells.push_back(random_cell(r));
    const auto received =
        protocol::from_json<HeatResult>(over_the_wire(protocol::to_json(sent)), "result");
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_EQ(received->heat_index, sent.heat_index);
    EXPECT_EQ(received->point, sent.point);
    ASSERT_EQ(received->cells.size(), sent.cells.size());
    for (std::size_t i = 0; i < sent.cells.size(); ++i) {
      expect_equal(received->cells[i], sent.cells[i]);
    }
  }
}

TEST(Protocol, CeilingsAreReadAsTheyWereWritten) {
  Random r(1);
  const Ceilings sent{.threads = 2,
                      .flop_per_second = 2e11 / 3,
                      .exponentials_per_second = 1e9 / 7,
                      .copy = {{1 << 20, 3e10 / 7}, {1 << 30, 1e10 / 3}},
                      .seconds_into_run = 0.1,
                      .device = DeviceKind::cuda,
                      .tensor_flop_per_second = 1e15 / 3};
  const auto received =
      protocol::from_json<Ceilings>(over_the_wire(protocol::to_json(sent)), "ceilings");
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(received->threads, sent.threads);
  EXPECT_EQ(received->flop_per_second, sent.flop_per_second);
  EXPECT_EQ(received->exponentials_per_second, sent.exponentials_per_second);
  ASSERT_EQ(received->copy.size(), 2U);
  EXPECT_EQ(received->copy[1].working_set_bytes, 1 << 30);
  EXPECT_EQ(received->copy[1].bytes_per_second, sent.copy[1].bytes_per_second);
  EXPECT_EQ(received->seconds_into_run, sent.seconds_into_run);
  EXPECT_EQ(received->device, DeviceKind::cuda);
  EXPECT_EQ(received->tensor_flop_per_second, sent.tensor_flop_per_second);
}

TEST(Protocol, AnErrorOfNaNIsKept) {
  HeatResult sent;
  sent.point.sequence_tokens = 64;
  sent.cells.emplace_back().relative_error = std::numeric_limits<double>::quiet_NaN();
  const auto received =
      protocol::from_json<HeatResult>(over_the_wire(protocol::to_json(sent)), "result");
  ASSERT_TRUE(received) << received.error().message;
  ASSERT_TRUE(received->cells[0].relative_error);
  EXPECT_TRUE(std::isnan(*received->cells[0].relative_error));
}

TEST(Protocol, InvalidUtf8IsReplacedInALine) {
  HeatResult sent;
  sent.point.sequence_tokens = 64;
  sent.cells.emplace_back().reason = "\xFF\xFE";
  EXPECT_TRUE(protocol::from_json<HeatResult>(over_the_wire(protocol::to_json(sent)), "result"));
}

TEST(Protocol, AMissingFieldIsNamedWithItsPath) {
  Random r(3);
  json message = protocol::as_request(
      protocol::HeatRequest{.heat = random_heat(r), .process = 0, .placements = {}});
  message["heat"]["point"].erase("heads");
  EXPECT_THAT(protocol::read_message<protocol::HeatRequest>(message).error().message,
              AllOf(HasSubstr("'heat.point'"), HasSubstr("needs the field 'heads'")));
}

TEST(Protocol, AValueOfAnotherTypeIsNamedWithItsPath) {
  HeatResult result;
  result.point.sequence_tokens = 64;
  result.cells.resize(2);
  json message = protocol::to_json(result);
  message["cells"][1]["batch"] = "many";
  EXPECT_THAT(protocol::from_json<HeatResult>(message, "result").error().message,
              AllOf(HasSubstr("'result.cells[1].batch'"), HasSubstr("not \"many\"")));
}

TEST(Protocol, NumbersOutOfRangeAreErrors) {
  json point = protocol::to_json(HeatPoint{.sequence_tokens = 64});
  point["threads"] = 3'000'000'000;
  EXPECT_THAT(protocol::from_json<HeatPoint>(point, "point").error().message,
              HasSubstr("'point.threads'"));
  point["threads"] = 1;
  point["heads"] = 0;
  EXPECT_THAT(protocol::from_json<HeatPoint>(point, "point").error().message,
              HasSubstr("'point.heads'"));
  point["heads"] = 1.5;
  EXPECT_THAT(protocol::from_json<HeatPoint>(point, "point").error().message,
              HasSubstr("whole number"));
}

TEST(Protocol, AnUnknownNameIsAnErrorWithTheNearest) {
  json point = protocol::to_json(HeatPoint{.sequence_tokens = 64});
  point["dtype"] = "float23";
  EXPECT_THAT(protocol::from_json<HeatPoint>(point, "point").error().message,
              AllOf(HasSubstr("'point.dtype'"), HasSubstr("float32")));
}

// Every value of a valid message replaced by every other kind: a sentence or a reading, no crash.
TEST(Protocol, AnyFieldOfAnyTypeIsReadOrAnError) {
  Random r(5);
  HeatResult result{.heat_index = 1, .point = random_point(r), .cells = {random_cell(r)}};
  result.cells[0].samples.resize(1);
  const json valid = protocol::to_json(result).flatten();
  for (const auto& [path, ignored] : valid.items()) {
    for (const json& other : {json(nullptr), json(-7), json(1.5), json("x"), json(true),
                              json::array({1}), json{{"a", 1}}}) {
      json message = valid.unflatten();
      message[json::json_pointer(path)] = other;
      if (const auto read = protocol::from_json<HeatResult>(message, "result"); !read) {
        EXPECT_THAT(read.error().message, HasSubstr("protocol message")) << path;
      }
    }
  }
}

TEST(Protocol, ALineThatIsNoObjectIsQuoted) {
  EXPECT_THAT(protocol::parse_line("Welcome to gpubox!").error().message,
              HasSubstr("Welcome to gpubox!"));
  EXPECT_FALSE(protocol::parse_line(""));
  EXPECT_FALSE(protocol::parse_line("[1]"));
  EXPECT_FALSE(protocol::parse_line("{\"a\":1} trailing"));
}

TEST(Protocol, ADeeplyNestedLineIsAnErrorBeforeItIsParsed) {
  const std::string brackets = std::string(2'000'000, '[') + std::string(2'000'000, ']');
  const auto message = protocol::parse_line("{\"event\":" + brackets + "}");
  ASSERT_FALSE(message);
  EXPECT_THAT(message.error().message, HasSubstr("nested deeper than 64 levels"));
  EXPECT_LT(message.error().message.size(), 200U);
}

TEST(Protocol, BracketsInsideStringsAreNoNesting) {
  const std::string text = std::string(100, '[') + "\\\"" + std::string(100, '{');
  const auto message = protocol::parse_line("{\"event\":\"" + text + "\"}");
  ASSERT_TRUE(message) << message.error().message;
}

TEST(Protocol, ImpossibleNumbersOfCoresAreUnknown) {
  EXPECT_EQ(protocol::cores_of({{"cores", 1}}), 1);
  for (const char* cores : {"0", "-5", "1000000000000", "2.5", "\"2\"", "null"}) {
    EXPECT_EQ(protocol::cores_of({{"cores", nlohmann::json::parse(cores)}}), std::nullopt) << cores;
  }
}

TEST(Protocol, ALineOfControlCharactersIsQuotedInOneLine) {
  const auto message = protocol::parse_line("\x1b[2J\nno\xff");
  ASSERT_FALSE(message);
  EXPECT_THAT(message.error().message, HasSubstr("found: ?[2J?no?"));
}

}  // namespace
}  // namespace attnscope
