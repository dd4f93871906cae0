// SPDX-License-Identifier: Apache-2.0
#include "tests/report/measured_run.h"

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace attnscope::test {

Cell timed_cell(std::string pattern, std::string implementation, std::optional<Window> window,
                std::string name, double median_ms) {
  Cell cell;
  cell.contender = {.pattern = std::move(pattern),
                    .implementation = std::move(implementation),
                    .window = window,
                    .name = std::move(name),
                    .pattern_json = "{}"};
  cell.batch = 4;
  cell.query_tokens = 11;
  for (int i = 0; i < 6; ++i) {
    // About 0.995, 0.997, ... 1.005: their geometric mean is 1.
    const double factor = std::exp(0.001 * (2 * i - 5));
    cell.samples.push_back(
        {.placement = i / 2, .round = i % 2, .time_ns = factor * median_ms * 1e6});
  }
  cell.relative_error = 1.5e-7;
  cell.error_bound = 2e-6;
  cell.memory = {.requested_bytes = 8000000, .reserved_bytes = 9000000, .workspace_bytes = 1000};
  cell.work = {1e9, 1e6, 1e5, 2e9, 2e6};
  return cell;
}

HeatPoint point_at(std::int64_t sequence_tokens) {
  HeatPoint point;
  point.sequence_tokens = sequence_tokens;
  point.batch_max = 100;
  point.threads = 2;
  return point;
}

HeatResult stage_heat(Stage stage, std::int64_t candidates) {
  HeatResult heat;
  heat.point = point_at(199);
  heat.point.operation = Operation::model;
  heat.point.layers = 12;
  heat.point.feed_forward = 3072;
  heat.point.stage = stage;
  heat.point.candidates = candidates;
  const auto n = static_cast<double>(candidates);
  const bool offline = stage == Stage::offline;
  heat.cells = {
      timed_cell("full", "segment", std::nullopt, "Cross-BERT", 100 * n),
      timed_cell("full", "segment", std::nullopt, "MixEncoder-a", offline ? 200 : 1 + 0.1 * n)};
  heat.cells[0].contender.model = "cross-bert";
  heat.cells[1].contender.model = "mixencoder-a";
  for (Cell& cell : heat.cells) cell.batch = offline ? 4 : candidates;
  heat.cells[1].memory.cache_bytes = 3072 * heat.cells[1].batch;
  if (stage != Stage::online) {
    heat.cells[0].samples.clear();
    heat.cells[0].status = CellStatus::unsupported;
    heat.cells[0].reason = "it stores nothing of documents";
  }
  return heat;
}

HeatResult MeasuredRun::heat_at(std::int64_t sequence_tokens) {
  HeatResult heat;
  heat.point = point_at(sequence_tokens);
  const double scale = static_cast<double>(sequence_tokens) / 64;
  heat.cells = {
      timed_cell("full", "dense", std::nullopt, "Full/dense", 2 * scale * scale),
      timed_cell("sparse", "segment", Window::of(4), "Sparse, fused, w = 4", 1 * scale),
      timed_cell("sparse", "segment", Window::of(64), "Sparse, fused, w = 64", 1.5 * scale),
      timed_cell("sparse", "sdpa-mask", Window::of(4), "sparse/sdpa-mask, w = 4",
                 4 * scale * scale)};
  for (Cell& cell : heat.cells) cell.document_tokens = sequence_tokens - 12;
  if (sequence_tokens == 256) {
    Cell& mask = heat.cells.back();
    mask.samples.clear();
    mask.status = CellStatus::oom;
    mask.reason = "it asks for 9.1 GB, and \"free\" are 1.2 GB, 50% & more_";
  }
  return heat;
}

MeasuredRun::MeasuredRun() : store_(open_or_throw(folder_ / "results.db")) {
  NewRun start = sample_run("kernels, \"cpu\"");
  start.provenance =
      R"({"driver":{"version":"0.1.0","commit":"0123456789abcdef","dirty":true,"compiler":"GNU 12.2"}})";
  run_ = begin_or_throw(store_, start);
  // The longer length first: tables sort by length.
  add(heat_at(256));
  add(heat_at(64));
  add(Ceilings{.threads = 2,
               .flop_per_second = 1e12,
               .exponentials_per_second = 1e10,
               .copy = {{1 << 20, 1e10}}});
}

MeasuredRun& MeasuredRun::add(const HeatResult& heat) {
  if (!store_.add_heat(run_, heat)) throw std::runtime_error("heat not stored");
  return *this;
}

MeasuredRun& MeasuredRun::add(const Ceilings& ceilings) {
  if (!store_.add_ceilings(run_, ceilings)) throw std::runtime_error("ceilings not stored");
  return *this;
}

RunInfo MeasuredRun::info() const {
  return store_.find_run("last").value();
}

report::Table MeasuredRun::table(std::optional<std::string_view> baseline,
                                 const std::string& only) const {
  auto table = report::make_table(store_, info(), baseline, filter_of(only));
  if (!table) throw std::runtime_error(table.error().message);
  return *table;
}

std::string MeasuredRun::refusal(std::optional<std::string_view> baseline,
                                 const std::string& only) const {
  const auto table = report::make_table(store_, info(), baseline, filter_of(only));
  return table ? "" : table.error().message;
}

OnlyFilter filter_of(const std::string& only) {
  OnlyFilter filter;
  std::stringstream stream(only);
  for (std::string term; std::getline(stream, term, ';');) {
    const std::size_t equals = term.find('=');
    filter.terms.emplace_back(term.substr(0, equals), term.substr(equals + 1));
  }
  return filter;
}

const report::Row& row_of(const report::Table& table, std::string_view contender,
                          std::int64_t sequence_tokens) {
  for (const report::Row& row : table.rows) {
    if (row.cell.cell.contender.id() == contender &&
        row.cell.point.sequence_tokens == sequence_tokens) {
      return row;
    }
  }
  throw std::runtime_error("no such row");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

nlohmann::json json_rows(const report::Table& table) {
  return nlohmann::json::parse(report::write_table(table, report::TableFormat::json));
}

std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && text.substr(i, 2) == "\"\"") {
      records.back().back().push_back(text[i++]);
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      records.back().emplace_back();
    } else if (!quoted && c == '\r') {
      if (text.substr(i++, 2) != "\r\n") throw std::runtime_error("a line does not end in CRLF");
      if (i + 1 < text.size()) records.emplace_back(1);
    } else {
      records.back().back().push_back(c);
    }
  }
  return records;
}

}  // namespace attnscope::test
