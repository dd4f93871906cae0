// SPDX-License-Identifier: Apache-2.0
#include "engine/store/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/sentences.h"
#include "engine/pattern/axes.h"
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

const std::string& printed_cell_columns() {
  static const std::string columns =
      fmt::format("runs.uuid, {}, {}, cells.ordinal, {}", qualified("heats", heat_columns),
                  qualified("heats", point_columns()), qualified("cells", cell_columns));
  return columns;
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
  auto parts = protocol::from_json<std::vector<PartTime>>(json, "parts");
  if (parts) {
    value = std::move(*parts);
  } else {
    damaged_ = true;
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

const Printed& start_print() {
  static const Printed printed{
      "runs",
      "number",
      "fingerprint",
      {fmt::format("SELECT uuid, {} FROM {{0}}.runs WHERE number = ?", run_columns)}};
  return printed;
}

const Printed& state_print() {
  static const Printed printed{
      "runs",
      "number",
      "state_fingerprint",
      {fmt::format("SELECT uuid, {}, (SELECT count(*) FROM {{0}}.restarts WHERE run_number = "
                   "number), (SELECT count(*) FROM {{0}}.ceilings WHERE run_number = number) "
                   "FROM {{0}}.runs NOT INDEXED WHERE number = ?",
                   state_columns)}};
  return printed;
}

const Printed& restart_print() {
  static const Printed printed{
      "restarts",
      "id",
      "fingerprint",
      {fmt::format("SELECT uuid, {} FROM {{0}}.restarts AS row JOIN {{0}}.runs ON number = "
                   "run_number WHERE id = ?",
                   qualified("row", restart_columns))}};
  return printed;
}

const Printed& ceilings_print() {
  static const Printed printed{
      "ceilings",
      "id",
      "fingerprint",
      {fmt::format("SELECT uuid, {} FROM {{0}}.ceilings AS row JOIN {{0}}.runs ON number = "
                   "run_number WHERE id = ?",
                   qualified("row", ceilings_columns)),
       "SELECT ordinal, working_set_bytes, bytes_per_second FROM {0}.copy_rates WHERE ceilings_id "
       "= ? ORDER BY ordinal"}};
  return printed;
}

const Printed& cell_print() {
  static const Printed printed{
      "cells",
      "id",
      "fingerprint",
      {fmt::format("SELECT {} FROM {{0}}.cells JOIN {{0}}.heats ON heats.id = heat_id JOIN "
                   "{{0}}.runs ON number = run_number WHERE cells.id = ?",
                   printed_cell_columns()),
       fmt::format("SELECT ordinal, {}, outlier FROM {{0}}.samples WHERE cell_id = ? ORDER BY "
                   "ordinal",
                   sample_columns)}};
  return printed;
}

void add_row(Fingerprint& print, const Statement& row, int first, int end) {
  enum : std::uint8_t { null, integer, real, text, blob };
  for (int i = first; i < (end < 0 ? row.getColumnCount() : end); ++i) {
    const SQLite::Column value = row.getColumn(i);
    if (value.isNull()) {
      print.byte(null);
    } else if (value.isInteger()) {
      print.byte(integer);
      print.integer(value.getInt64());
    } else if (value.isFloat()) {
      print.byte(real);
      print.real(value.getDouble());
    } else {
      print.byte(value.isText() ? text : blob);
      const void* const bytes = value.getBlob();
      print.text({static_cast<const char*>(bytes), static_cast<std::size_t>(value.getBytes())});
    }
  }
}

std::int64_t fingerprint_of(const Database& database, const Printed& printed, std::int64_t number,
                            std::string_view schema) {
  Fingerprint print;
  for (const std::string& text : printed.queries) {
    Statement query(database, fmt::format(fmt::runtime(text), schema));
    query.bind(1, number);
    while (query.executeStep()) add_row(print, query);
  }
  return print.value();
}

bool matches(const Database& database, const Printed& printed, std::int64_t number,
             std::string_view schema) {
  Statement stored(database, fmt::format("SELECT {} FROM {}.{} NOT INDEXED WHERE {} = ?",
                                         printed.column, schema, printed.table, printed.key));
  stored.bind(1, number);
  return stored.executeStep() &&
         stored.getColumn(0).getInt64() == fingerprint_of(database, printed, number, schema);
}

void renew_fingerprint(Database& database, const Printed& printed, std::int64_t number) {
  Statement renew(database, fmt::format("UPDATE main.{} SET {} = ? WHERE {} = ?", printed.table,
                                        printed.column, printed.key));
  execute(renew, fingerprint_of(database, printed, number), number);
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
