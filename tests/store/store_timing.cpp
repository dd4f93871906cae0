// SPDX-License-Identifier: Apache-2.0
//
// Times queries of a large store: attnscope_store_timing FILE
//
// Creates FILE if it does not exist: 10,000 runs with 1,000,000 samples in total, one of them with
// 1,000 cells of 50 samples each. Each query of the window is repeated eleven times; the first, the
// median and the slowest time are printed. The first query may read a file that is not cached.

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
#include "tests/store/large_store.h"

namespace attnscope {
namespace {

/// Processor time of this process in milliseconds, which other processes affect less than wall
/// time.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void time(const std::string& what, const std::function<void()>& query) {
  using Clock = std::chrono::steady_clock;
  std::array<double, 11> ms{}, own_ms{};
  for (std::size_t i = 0; i < ms.size(); ++i) {
    const auto began = Clock::now();
    const double own_began = processor_ms();
    query();
    own_ms[i] = processor_ms() - own_began;
    ms[i] = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
  }
  const double first = ms.front();
  std::ranges::sort(ms);
  std::ranges::sort(own_ms);
  fmt::print("{:<52} {:8.2f} {:8.2f} {:8.2f} {:14.2f}\n", what, first, ms[ms.size() / 2], ms.back(),
             own_ms[own_ms.size() / 2]);
}

void time_queries(const std::filesystem::path& file) {
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
  for (const auto& [words, found] : {std::pair("small run", run_of("5000")),
                                     std::pair("1,000 cells of 50 samples", run_of("10000"))}) {
    const RunInfo& run = found;
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
    fmt::print(stderr, "attnscope_store_timing FILE; FILE is created if it does not exist\n");
    return 2;
  }
  try {
    if (!std::filesystem::exists(argv[1])) attnscope::fill_large_store(argv[1]);
    attnscope::time_queries(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
