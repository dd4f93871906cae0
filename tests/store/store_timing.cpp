// SPDX-License-Identifier: Apache-2.0
//
// How long a large store takes: attnscope_store_timing FILE
//
// FILE is filled first unless it is there: 10,000 runs with 1,000,000 samples together, one of them
// of 1,000 cells with 50 samples each. Then every question a person's click asks is asked eleven
// times; the median and the slowest are printed. The first one reads a file that the system may not
// hold in memory.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/report/table.h"
#include "engine/store/store.h"

namespace attnscope {
namespace {

constexpr int small_runs = 9999;

template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void need(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

HeatResult made_up_heat(int index, int cells, int samples) {
  HeatResult heat;
  heat.heat_index = index;
  heat.point.sequence_tokens = 64 << (index % 8);
  heat.point.seed = static_cast<std::uint64_t>(index / 8);
  heat.point.threads = 2;
  for (int c = 0; c < cells; ++c) {
    Cell& cell = heat.cells.emplace_back();
    cell.contender = {.pattern = "sparse",
                      .implementation = c == 0 ? "dense" : fmt::format("segment{}", c),
                      .window = Window::of(4),
                      .name = fmt::format("Sparse {}, w = 4", c),
                      .pattern_json = std::string(470, ' ')};
    cell.batch = 100;
    cell.query_tokens = 11;
    cell.document_tokens = heat.point.sequence_tokens - 12;
    cell.relative_error = 1e-7;
    cell.error_bound = 2e-6;
    cell.work = {1e9, 1e6, 1e6, 1e9, 1e6};
    for (int s = 0; s < samples; ++s) {
      cell.samples.push_back({.process = s * 2 / samples,
                              .placement = s * 5 / samples,
                              .round = s,
                              .time_ns = 1e6 * (1 + c) + 1000 * ((s * 7919) % 97)});
    }
  }
  return heat;
}

RunId add_run(Store& store, const std::string& name, int heats, int cells, int samples) {
  const RunId run = need(store.begin_run({.sweep_name = name,
                                          .sweep_text = std::string(540, 's'),
                                          .command_line = "attnscope run " + name,
                                          .provenance = fmt::format("{{\"x\":\"{:8000}\"}}", ""),
                                          .device = "Some processor",
                                          .heats_planned = heats}));
  for (int i = 0; i < heats; ++i) need(store.add_heat(run, made_up_heat(i, cells, samples)));
  need(store.add_ceilings(run, {.threads = 2,
                                .flop_per_second = 1e11,
                                .exponentials_per_second = 1e9,
                                .copy = {{1 << 20, 1e11}, {1 << 28, 1e10}},
                                .seconds_into_run = 1}));
  need(store.finish_run(run, RunStatus::done));
  return run;
}

void fill(const std::filesystem::path& file) {
  std::filesystem::path unfinished = file;
  unfinished += ".filling";
  Store store = need(Store::open(unfinished, Store::Mode::read_write));
  // 9,999 runs of 95 samples, and one of 50,000.
  for (int i = 0; i < small_runs; ++i) add_run(store, "small", 1, 5, 19);
  add_run(store, "large", 20, 50, 50);
  { const Store closed = std::move(store); }
  std::filesystem::rename(unfinished, file);
}

/// Milliseconds of this process's processor time so far: unlike the clock's, it is little moved by
/// what else the machine does.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void time(const std::string& what, const std::function<void()>& ask) {
  using Clock = std::chrono::steady_clock;
  std::array<double, 11> ms{}, own_ms{};
  for (std::size_t i = 0; i < ms.size(); ++i) {
    const auto began = Clock::now();
    const double own_began = processor_ms();
    ask();
    own_ms[i] = processor_ms() - own_began;
    ms[i] = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
  }
  const double first = ms.front();
  std::ranges::sort(ms);
  std::ranges::sort(own_ms);
  fmt::print("{:<52} {:8.2f} {:8.2f} {:8.2f} {:14.2f}\n", what, first, ms[ms.size() / 2], ms.back(),
             own_ms[own_ms.size() / 2]);
}

void ask_everything(const std::filesystem::path& file) {
  fmt::print("{:<52} {:>8} {:>8} {:>8} {:>14}\n", "ms", "first", "median", "slowest",
             "of processor");
  time("open for reading", [&] { need(Store::open(file, Store::Mode::read_only)); });
  time("open for writing", [&] { need(Store::open(file, Store::Mode::read_write)); });
  time("open for writing and list the runs",
       [&] { need(need(Store::open(file, Store::Mode::read_write)).run_list()); });
  const Store store = need(Store::open(file, Store::Mode::read_only));
  time("list the runs", [&] { need(store.run_list()); });
  time("all runs with their texts", [&] { need(store.runs()); });
  time("the last run", [&] { need(store.find_run("last")); });
  time("whether anything has changed", [&] { need(store.data_version()); });
  std::size_t written = 0;
  const auto run_of = [&](const char* number) { return need(store.find_run(number)); };
  for (const auto& [words, run] : {std::pair("small run", run_of("5000")),
                                   std::pair("1,000 cells of 50 samples", run_of("10000"))}) {
    const auto named = [&, words = words](const char* what) {
      return fmt::format("{}: {}", words, what);
    };
    time(named("cells"), [&] { need(store.cells(run.id, false)); });
    time(named("cells and samples"), [&] { need(store.cells(run.id, true)); });
    time(named("table"), [&] { need(report::make_table(store, run, std::nullopt, {})); });
    time(named("table, written"), [&] {
      written += report::write_table(need(report::make_table(store, run, std::nullopt, {})),
                                     report::TableFormat::text)
                     .size();
    });
    time(named("table with baseline"),
         [&] { need(report::make_table(store, run, "sparse/dense", {})); });
    time(named("the same, written as JSON"), [&] {
      written += report::write_table(need(report::make_table(store, run, "sparse/dense", {})),
                                     report::TableFormat::json)
                     .size();
    });
  }
  fmt::print("{} bytes of tables written\n", written);
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "attnscope_store_timing FILE; FILE is made when it is not there\n");
    return 2;
  }
  try {
    if (!std::filesystem::exists(argv[1])) attnscope::fill(argv[1]);
    attnscope::ask_everything(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
