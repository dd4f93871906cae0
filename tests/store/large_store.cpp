// SPDX-License-Identifier: Apache-2.0
#include "tests/store/large_store.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/store/store.h"
#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using test::need;

HeatResult generated_heat(int index, int cells, int samples) {
  HeatResult heat;
  heat.heat_index = index;
  heat.point.sequence_tokens = 64 << (index % 8);
  heat.point.seed = static_cast<std::uint64_t>(index / 8);
  heat.point.threads = 2;
  heat.point.batch_max = 100;
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
  for (int i = 0; i < heats; ++i) need(store.add_heat(run, generated_heat(i, cells, samples)));
  need(store.add_ceilings(run, {.threads = 2,
                                .flop_per_second = 1e11,
                                .exponentials_per_second = 1e9,
                                .copy = {{1 << 20, 1e11}, {1 << 28, 1e10}},
                                .seconds_into_run = 1}));
  need(store.finish_run(run, RunStatus::done));
  return run;
}

}  // namespace

void fill_large_store(const std::filesystem::path& file, const LargeStore& size) {
  std::filesystem::path unfinished = file;
  unfinished += ".filling";
  Store store = need(Store::open(unfinished, Store::Mode::read_write));
  for (int i = 0; i < size.small_runs; ++i) add_run(store, "small", 1, size.cells, size.samples);
  add_run(store, "large", 20, 50, 50);
  { const Store closed = std::move(store); }
  std::filesystem::rename(unfinished, file);
}

}  // namespace attnscope
