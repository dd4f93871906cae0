// SPDX-License-Identifier: Apache-2.0
#include "engine/store/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/sentences.h"
#include "engine/pattern/window.h"
#include "engine/store/schema.h"
#include "engine/worker/protocol.h"

namespace attnscope::store {

const std::string& point_columns() {
  static const std::string columns = [] {
    std::string text;
    for (const Axis& axis : heat_axes) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", axis.key);
    }
    return text;
  }();
  return columns;
}

namespace {

std::string_view type_of(const Axis& axis) {
  return has_texts(axis) ? "TEXT" : "INTEGER";
}

/// The neutral value in SQL syntax.
std::string neutral_value(const Axis& axis) {
  const std::int64_t value = axis.default_value();
  return has_texts(axis) ? fmt::format("'{}'", text_of(axis, value)) : std::to_string(value);
}

/// A column added by a later version: NULL in rows of older files.
struct LaterColumn {
  std::string_view table, name, type;
};
constexpr std::array<LaterColumn, 10> later_columns{{
    {"cells", "cache_bytes", "INTEGER"},
    {"cells", "parts", "TEXT"},
    {"cells", "disturbed_by", "TEXT"},
    {"samples", "cpu_ns", "REAL"},
    {"samples", "waited_ns", "REAL"},
    {"restarts", "fingerprint", "INTEGER"},
    {"heats", "fingerprint", "INTEGER"},
    {"heats", "restart", "INTEGER"},
    {"progress", "fingerprint", "INTEGER"},
    {"runs", "state_fingerprint", "INTEGER"},
}};

std::vector<std::string> columns_of(const Database& database, std::string_view table) {
  std::vector<std::string> columns;
  Statement list(database, "SELECT name FROM pragma_table_info(?)");
  list.bind(1, std::string(table));
  while (list.executeStep()) columns.push_back(list.getColumn(0).getString());
  return columns;
}

bool has(const std::vector<std::string>& columns, std::string_view name) {
  return std::ranges::find(columns, name) != columns.end();
}

bool lacks(const std::vector<std::string>& columns, const Axis& axis) {
  return axis.at_default == Axis::Default::neutral && !has(columns, axis.key);
}

/// "row.process, row.round, NULL": the listed columns, with NULL for later columns that the file
/// lacks.
std::string values_of(const Database& database, std::string_view table, std::string_view columns,
                      std::string_view alias = "row") {
  std::string values = qualified(alias, columns);
  const std::vector<std::string> present = columns_of(database, table);
  for (const LaterColumn& later : later_columns) {
    const std::string value = fmt::format("{}.{}", alias, later.name);
    const std::size_t place = values.find(value);
    if (later.table == table && place != std::string::npos && !has(present, later.name))
      values.replace(place, value.size(), "NULL");
  }
  return values;
}

}  // namespace

Result<RowValues> row_values(const Database& database, const std::filesystem::path& file) {
  constexpr std::array<std::string_view, 6> others{"id",         "run_number",  "heat_index",
                                                   "cell_count", "fingerprint", "restart"};
  const std::vector<std::string> columns = columns_of(database, "heats");
  for (const std::string& column : columns) {
    if (find_axis(column) != nullptr || std::ranges::find(others, column) != others.end()) continue;
    return fail(
        "{} was written by an AttnScope that knows the axis '{}', which this one does not; use "
        "that AttnScope, or use another database",
        file.string(), in_a_sentence(column));
  }
  RowValues values{.point = {},
                   .cell = values_of(database, "cells", cell_columns),
                   .sample = values_of(database, "samples", sample_columns),
                   .restart = values_of(database, "restarts", restart_columns),
                   .progress = values_of(database, "progress", progress_columns),
                   .joined_cell = values_of(database, "cells", cell_columns, "cells"),
                   .heat = values_of(database, "heats", heat_columns),
                   .state_print = values_of(database, "runs", "state_fingerprint")};
  for (const Axis& axis : heat_axes) {
    if (!values.point.empty()) values.point += ", ";
    values.point += lacks(columns, axis) ? neutral_value(axis) : fmt::format("row.{}", axis.key);
  }
  return values;
}

RowValues all_row_values() {
  return {.point = qualified("row", point_columns()),
          .cell = qualified("row", cell_columns),
          .sample = qualified("row", sample_columns),
          .restart = qualified("row", restart_columns),
          .progress = qualified("row", progress_columns),
          .joined_cell = qualified("cells", cell_columns),
          .heat = qualified("row", heat_columns),
          .state_print = qualified("row", "state_fingerprint")};
}

void add_later_columns(Database& database) {
  Transaction transaction(database, SQLite::TransactionBehavior::EXCLUSIVE);
  const std::vector<std::string> columns = columns_of(database, "heats");
  for (const Axis& axis : heat_axes) {
    if (!lacks(columns, axis)) continue;
    database.exec(fmt::format("ALTER TABLE heats ADD COLUMN {} {} NOT NULL DEFAULT {}", axis.key,
                              type_of(axis), neutral_value(axis)));
  }
  for (const LaterColumn& later : later_columns) {
    if (has(columns_of(database, later.table), later.name)) continue;
    database.exec(
        fmt::format("ALTER TABLE {} ADD COLUMN {} {}", later.table, later.name, later.type));
  }
  transaction.commit();
}

std::string schema() {
  std::string columns;
  for (const Axis& axis : heat_axes) {
    columns += fmt::format("{}  -- {}\n  {} {} NOT NULL", columns.empty() ? "" : ",\n", axis.says,
                           axis.key, type_of(axis));
  }
  constexpr std::string_view place = "  :axes";
  std::string text(schema_text);
  return text.replace(text.find(place), place.size(), columns);
}

std::string qualified(std::string_view alias, std::string_view columns) {
  std::string result = fmt::format("{}.", alias);
  for (const char c : columns) {
    result.push_back(c);
    if (c == ' ') result.append(fmt::format("{}.", alias));
  }
  return result;
}

std::string places(std::string_view columns, int more) {
  std::string text = "?";
  for (auto i = std::count(columns.begin(), columns.end(), ',') + more; i > 0; --i) text += ", ?";
  return text;
}

void Writer::operator()(double value) {
  if (std::isnan(value)) {
    (*this)(std::string("nan"));
  } else {
    statement_.bind(++place_, value);
  }
}

void Writer::operator()(const std::vector<PartTime>& value) {
  if (value.empty()) {
    statement_.bind(++place_);
  } else {
    (*this)(protocol::to_json(value).dump());
  }
}

void Reader::operator()(std::vector<PartTime>& value) {
  value.clear();
  const auto column = statement_.getColumn(column_++);
  if (column.isNull()) return;
  const auto json = nlohmann::json::parse(column.getString(), nullptr, false);
  auto parts = protocol::read_parts(json);
  if (parts) {
    value = std::move(*parts);
  } else {
    damaged_ = true;
  }
}

void Fingerprinter::operator()(const std::vector<PartTime>& value) {
  for (const PartTime& part : value) {
    print_.text(part.name);
    print_.real(part.time_ns);
    print_.real(part.useful_flop);
  }
}

void Reader::operator()(std::optional<double>& value) {
  value.reset();
  if (!statement_.getColumn(column_).isNull()) value = real_at(statement_, column_);
  ++column_;
}

void Reader::operator()(std::optional<std::int64_t>& value) {
  value.reset();
  if (!statement_.getColumn(column_).isNull()) value = statement_.getColumn(column_).getInt64();
  ++column_;
}

void Reader::operator()(std::optional<Window>& value) {
  value.reset();
  if (!statement_.getColumn(column_).isNull()) {
    if (const Result<Window> window = parse_window(statement_.getColumn(column_).getString())) {
      value = *window;
    } else {
      damaged_ = true;
    }
  }
  ++column_;
}

void Writer::visit(const Axis& axis, const HeatPoint& point) {
  if (has_texts(axis)) {
    (*this)(std::string(text_of(axis, point)));
  } else {
    (*this)(axis.get(point));
  }
}

void Reader::visit(const Axis& axis, HeatPoint& point) {
  if (!has_texts(axis)) return axis.set(point, statement_.getColumn(column_++).getInt64());
  if (const auto value = value_of_text(axis, statement_.getColumn(column_++).getString())) {
    axis.set(point, *value);
  } else {
    damaged_ = true;
  }
}

void Fingerprinter::visit(const Axis& axis, const HeatPoint& point) {
  if (!axis.adds_to(point)) return;
  if (has_texts(axis)) {
    print_.text(text_of(axis, point));
  } else {
    print_.integer(axis.get(point));
  }
}

void Fingerprinter::operator()(const std::optional<double>& value) {
  print_.byte(value ? 1 : 0);
  if (value) print_.real(*value);
}

void Fingerprinter::operator()(const std::optional<std::int64_t>& value) {
  print_.byte(value ? 1 : 0);
  if (value) print_.integer(*value);
}

void Fingerprinter::operator()(const std::optional<Window>& value) {
  print_.byte(value ? 1 : 0);
  if (value) print_.text(value->text());
}

std::int64_t fingerprint_of(const std::string& uuid, const NewRun& run) {
  Fingerprinter print;
  print(uuid);
  visit_run(print, run);
  return print.value();
}

std::int64_t fingerprint_of(const std::vector<Sample>& samples, const std::vector<bool>& outliers) {
  Fingerprinter print;
  print(static_cast<std::int64_t>(samples.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    visit_sample(print, samples[i]);
    print(static_cast<bool>(outliers[i]));
  }
  return print.value();
}

std::int64_t fingerprint_of(const std::string& uuid, const HeatPoint& point, int ordinal,
                            const Cell& cell, const statistics::Summary& summary,
                            std::int64_t samples_fingerprint) {
  Fingerprinter print;
  print(uuid);
  visit_point(print, point);
  print(ordinal);
  visit_cell(print, cell, summary);
  print(samples_fingerprint);
  return print.value();
}

std::int64_t fingerprint_of(const std::string& uuid, const Restart& restart) {
  Fingerprinter print;
  print(uuid);
  visit_restart(print, restart);
  return print.value();
}

std::int64_t fingerprint_of(const std::string& uuid, int heat_index, std::int64_t cell_count,
                            const HeatPoint& point, std::optional<std::int64_t> restart) {
  Fingerprinter print;
  print(uuid);
  print(heat_index);
  print(cell_count);
  visit_point(print, point);
  if (restart.value_or(0) != 0) print(*restart);
  return print.value();
}

std::int64_t fingerprint_of(const std::string& uuid, const Progress& progress) {
  Fingerprinter print;
  print(uuid);
  visit_progress(print, progress);
  return print.value();
}

StatePrint state_print(const Database& database, std::string_view schema, const RowValues& values,
                       std::int64_t number) {
  Statement query(
      database, fmt::format("SELECT uuid, {0}, (SELECT count(*) FROM {1}.restarts WHERE run_number "
                            "= number), (SELECT count(*) FROM {1}.ceilings WHERE run_number = "
                            "number), {2} FROM {1}.runs AS row NOT INDEXED WHERE number = ?",
                            state_columns, schema, values.state_print));
  query.bind(1, number);
  StatePrint state;
  if (!query.executeStep()) return state;
  Reader read(query, 0);
  RunInfo run;
  std::string status;
  std::int64_t restarts = 0, ceilings = 0;
  read(run.id.uuid);
  visit_state(read, status, run);
  read(restarts);
  read(ceilings);
  read(state.stored);
  Fingerprinter print;
  print(run.id.uuid);
  visit_state(print, status, run);
  print(restarts);
  state.without_ceilings = print.value();
  print(ceilings);
  state.print = print.value();
  return state;
}

void renew_state_print(Database& database, std::int64_t number, const StatePrint& before) {
  if (!before.matches()) return;
  Statement renew(database, "UPDATE main.runs SET state_fingerprint = ? WHERE number = ?");
  execute(renew, state_print(database, "main", all_row_values(), number).print, number);
}

std::int64_t fingerprint_of(const std::string& uuid, const Ceilings& ceilings) {
  Fingerprinter print;
  print(uuid);
  visit_ceilings(print, ceilings);
  print(static_cast<std::int64_t>(ceilings.copy.size()));
  for (const Ceilings::Copy& copy : ceilings.copy) {
    print(copy.working_set_bytes);
    print(copy.bytes_per_second);
  }
  return print.value();
}

statistics::HeatBasis basis_of(const HeatPoint& point, const std::vector<const Cell*>& cells) {
  std::vector<std::vector<statistics::Observation>> contenders;
  for (const Cell* cell : cells) {
    if (cell->status == CellStatus::ok) contenders.push_back(observations_of(*cell, point));
  }
  return statistics::basis_of(contenders);
}

}  // namespace attnscope::store

namespace attnscope {

std::vector<statistics::Observation> observations_of(const Cell& cell, const HeatPoint& point) {
  std::vector<statistics::Observation> observations;
  observations.reserve(cell.samples.size());
  for (const Sample& sample : cell.samples) {
    observations.push_back({.placement = sample.placement,
                            .round = sample.round,
                            .time_ns = sample.time_ns,
                            .process = sample.process,
                            .disturbed = is_disturbed(sample, point.threads)});
  }
  return observations;
}

}  // namespace attnscope
