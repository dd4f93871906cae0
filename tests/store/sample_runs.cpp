// SPDX-License-Identifier: Apache-2.0
#include "tests/store/sample_runs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "engine/heat/axes.h"

namespace attnscope::test {
namespace {

template <typename T>
T pick(std::mt19937_64& random, std::initializer_list<T> choices) {
  return *(choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size()));
}

/// An integer from 0 to `most`, of any magnitude.
std::int64_t some_integer(std::mt19937_64& random, std::int64_t most) {
  const auto drawn = static_cast<std::int64_t>(random() >> (1 + random() % 60));
  return most == std::numeric_limits<std::int64_t>::max() ? drawn : drawn % (most + 1);
}

std::int64_t some_bytes(std::mt19937_64& random) {
  return some_integer(random, std::int64_t{1} << 50);
}

double some_real(std::mt19937_64& random) {
  const double value = static_cast<double>(random()) / 1e7;
  return random() % 8 == 0 ? std::floor(value) : value;
}

std::string some_text(std::mt19937_64& random) {
  return pick<std::string>(
      random, {"", "plain", "it's \"quoted\"; DROP TABLE runs; --", "two\nlines\tand a tab",
               "Fröbe · µs · 注意力", std::string("nul\0inside", 10), "\xff\xfe not UTF-8"});
}

std::optional<double> maybe(std::mt19937_64& random) {
  if (random() % 3 == 0) return std::nullopt;
  return some_real(random);
}

bool equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool equal(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || equal(*a, *b));
}

bool equal(const Sample& a, const Sample& b) {
  return a.process == b.process && a.placement == b.placement && a.round == b.round &&
         equal(a.time_ns, b.time_ns) && a.iterations == b.iterations &&
         a.involuntary_switches == b.involuntary_switches &&
         equal(a.foreign_load, b.foreign_load) && equal(a.clock_mhz, b.clock_mhz) &&
         equal(a.temperature_c, b.temperature_c) && a.throttled == b.throttled &&
         equal(a.cpu_ns, b.cpu_ns) && equal(a.waited_ns, b.waited_ns) &&
         equal(a.power_w, b.power_w);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "attnscope-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Store open_or_throw(const std::filesystem::path& file, Store::Mode mode) {
  return need(Store::open(file, mode));
}

RunId begin_or_throw(Store& store, const NewRun& run) {
  return need(store.begin_run(run));
}

NewRun sample_run(std::string name) {
  return {.sweep_name = std::move(name),
          .sweep_text = "{ \"name\": \"quick\",\n  \"windows\": [4, \"inf\"] }",
          .command_line = "attnscope run 'quick sweep.json'",
          .provenance = R"({"device":"Some CPU","commit":"abc123"})",
          .device = "Some CPU",
          .heats_planned = 1,
          .process_id = 0,
          .process_start_ticks = std::numeric_limits<std::uint64_t>::max()};
}

NewRun live_run(std::string name) {
  NewRun run = sample_run(std::move(name));
  run.process_id = getpid();
  run.process_start_ticks = own_process_start_ticks();
  return run;
}

Cell random_cell(std::mt19937_64& random) {
  Cell cell;
  cell.contender.pattern = pick<std::string>(random, {"full", "sparse", "my patterns/a'b.json"});
  cell.contender.implementation = pick<std::string>(random, {"dense", "segment"});
  cell.contender.window = pick<std::optional<Window>>(
      random, {std::nullopt, Window::of(0), Window::of(64), Window::infinite()});
  cell.contender.name = some_text(random);
  cell.contender.pattern_json = some_text(random);
  cell.contender.model = pick<std::string>(random, {"", "sparse+cls-only-last-layer"});
  cell.status = random() % 2 == 0 ? CellStatus::ok : static_cast<CellStatus>(random() % 7);
  cell.reason = some_text(random);
  cell.batch = 1 + some_integer(random, 1000);
  cell.query_tokens = some_integer(random, 64);
  cell.document_tokens = some_integer(random, 64);
  cell.relative_error = maybe(random);
  cell.error_bound = maybe(random);
  cell.memory = {some_bytes(random), some_bytes(random), some_bytes(random), std::nullopt};
  if (random() % 2 == 0) cell.memory.process_peak_bytes = some_bytes(random);
  if (random() % 2 == 0) cell.memory.cache_bytes = some_bytes(random);
  cell.work = {some_real(random), some_real(random), some_real(random), some_real(random),
               some_real(random)};
  cell.settled = random() % 2 == 0;
  if (random() % 2 == 0)
    cell.parts = {{"embeddings", some_real(random), 0}, {"attention", some_real(random), 1e9}};
  if (random() % 4 == 0) cell.disturbed_by = some_text(random);
  if (cell.status != CellStatus::ok) return cell;
  cell.error_bound = static_cast<double>(random() % 100) / 10;
  cell.relative_error = *cell.error_bound / 2;
  const auto samples = random() % 12;
  for (std::uint64_t i = 0; i < samples; ++i) {
    cell.samples.push_back({.process = static_cast<int>(random() % 2),
                            .placement = static_cast<int>(i / 4),
                            .round = static_cast<int>(i % 4),
                            .time_ns = 1 + some_real(random),
                            .iterations = static_cast<int>(1 + random() % 1000),
                            .involuntary_switches = some_bytes(random),
                            .foreign_load = some_real(random),
                            .clock_mhz = maybe(random),
                            .temperature_c = std::nullopt,
                            .throttled = random() % 4 == 0,
                            .cpu_ns = maybe(random),
                            .waited_ns = maybe(random),
                            .power_w = maybe(random)});
    if (random() % 2 == 0)
      cell.samples.back().temperature_c = static_cast<double>(random() % 1000) / 10;
  }
  return cell;
}

HeatResult random_heat(std::mt19937_64& random, int index, int cells) {
  HeatResult heat;
  heat.heat_index = index;
  for (const Axis& axis : heat_axes) {
    if (axis.kind == Axis::Kind::lengths) continue;
    const std::int64_t values = axis.kind == Axis::Kind::truth ? 2 : axis.words;
    axis.set(heat.point, values > 0 ? static_cast<std::int64_t>(random() % 64) % values
                                    : axis.least + some_integer(random, axis.most - axis.least));
  }
  heat.point.sequence_tokens = 64 + index;
  if (random() % 2 == 0) heat.point.document_lengths = {.median = 8, .p90 = 32, .most = 50};
  heat.point.batch_max = 1001;
  for (int i = 0; i < cells; ++i) heat.cells.push_back(random_cell(random));
  return heat;
}

Ceilings random_ceilings(std::mt19937_64& random) {
  Ceilings ceilings{.threads = static_cast<int>(random() % 64),
                    .flop_per_second = some_real(random),
                    .exponentials_per_second = some_real(random),
                    .copy = {},
                    .seconds_into_run = some_real(random)};
  for (std::uint64_t i = random() % 5; i > 0; --i) {
    const std::int64_t below = ceilings.copy.empty() ? 0 : ceilings.copy.back().working_set_bytes;
    ceilings.copy.push_back({below + 1 + some_bytes(random), some_real(random)});
  }
  if (random() % 2 == 0) {
    ceilings.device = DeviceKind::cuda;
    ceilings.tensor_flop_per_second = some_real(random);
  }
  return ceilings;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

bool equal(const PartTime& a, const PartTime& b) {
  return a.name == b.name && equal(a.time_ns, b.time_ns) && equal(a.useful_flop, b.useful_flop);
}

bool same(const Cell& a, const Cell& b) {
  return a.contender == b.contender && a.status == b.status && a.reason == b.reason &&
         a.batch == b.batch && a.query_tokens == b.query_tokens &&
         a.document_tokens == b.document_tokens &&
         std::equal(a.samples.begin(), a.samples.end(), b.samples.begin(), b.samples.end(),
                    [](const Sample& x, const Sample& y) { return equal(x, y); }) &&
         equal(a.relative_error, b.relative_error) && equal(a.error_bound, b.error_bound) &&
         a.memory.requested_bytes == b.memory.requested_bytes &&
         a.memory.reserved_bytes == b.memory.reserved_bytes &&
         a.memory.workspace_bytes == b.memory.workspace_bytes &&
         a.memory.process_peak_bytes == b.memory.process_peak_bytes &&
         a.memory.cache_bytes == b.memory.cache_bytes &&
         equal(a.work.useful_flop, b.work.useful_flop) &&
         equal(a.work.least_bytes, b.work.least_bytes) &&
         equal(a.work.exponentials, b.work.exponentials) &&
         equal(a.work.executed_flop, b.work.executed_flop) &&
         equal(a.work.executed_bytes, b.work.executed_bytes) && a.settled == b.settled &&
         a.disturbed_by == b.disturbed_by &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const PartTime& x, const PartTime& y) { return equal(x, y); });
}

bool same(const statistics::Summary& a, const statistics::Summary& b) {
  return equal(a.median_ns, b.median_ns) && equal(a.low_ns, b.low_ns) &&
         equal(a.high_ns, b.high_ns) && a.samples == b.samples && a.placements == b.placements;
}

bool same(const Ceilings& a, const Ceilings& b) {
  const auto equal_copy = [](const Ceilings::Copy& x, const Ceilings::Copy& y) {
    return x.working_set_bytes == y.working_set_bytes &&
           equal(x.bytes_per_second, y.bytes_per_second);
  };
  return a.threads == b.threads && equal(a.flop_per_second, b.flop_per_second) &&
         equal(a.exponentials_per_second, b.exponentials_per_second) &&
         equal(a.seconds_into_run, b.seconds_into_run) && a.device == b.device &&
         equal(a.tensor_flop_per_second, b.tensor_flop_per_second) &&
         std::equal(a.copy.begin(), a.copy.end(), b.copy.begin(), b.copy.end(), equal_copy);
}

bool same(const NewRun& a, const NewRun& b) {
  return a.sweep_name == b.sweep_name && a.sweep_text == b.sweep_text &&
         a.command_line == b.command_line && a.provenance == b.provenance && a.device == b.device &&
         a.heats_planned == b.heats_planned && a.process_id == b.process_id &&
         a.process_start_ticks == b.process_start_ticks;
}

}  // namespace attnscope::test
