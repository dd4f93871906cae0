// SPDX-License-Identifier: Apache-2.0
#include "engine/store/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/pattern/window.h"
#include "engine/store/schema.h"
#include "kernels/base/sentences.h"

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
  return axis.kind == Axis::Kind::word ? "TEXT" : "INTEGER";
}

/// As SQL writes it.
std::string neutral_value(const Axis& axis) {
  const std::int64_t value = axis.default_value();
  return axis.kind == Axis::Kind::word ? fmt::format("'{}'", text_of(axis, value))
                                       : std::to_string(value);
}

std::vector<std::string> columns_of_heats(const Database& database) {
  std::vector<std::string> columns;
  Statement list(database, "SELECT name FROM pragma_table_info('heats')");
  while (list.executeStep()) columns.push_back(list.getColumn(0).getString());
  return columns;
}

bool lacks(const std::vector<std::string>& columns, const Axis& axis) {
  return axis.at_default == Axis::Default::neutral &&
         std::ranges::find(columns, axis.key) == columns.end();
}

}  // namespace

Result<std::string> point_values(const Database& database, const std::filesystem::path& file) {
  constexpr std::array<std::string_view, 4> others{"id", "run_number", "heat_index", "cell_count"};
  const std::vector<std::string> columns = columns_of_heats(database);
  for (const std::string& column : columns) {
    if (find_axis(column) != nullptr || std::ranges::find(others, column) != others.end()) continue;
    return fail(
        "{} was written by an AttnScope that knows the axis '{}', which this one does not; use "
        "that AttnScope, or name another file with --db",
        file.string(), in_a_sentence(column));
  }
  std::string values;
  for (const Axis& axis : heat_axes) {
    if (!values.empty()) values += ", ";
    values += lacks(columns, axis) ? neutral_value(axis) : fmt::format("row.{}", axis.key);
  }
  return values;
}

std::string all_point_values() {
  return qualified("row", point_columns());
}

void add_axes(Database& database) {
  Transaction transaction(database, SQLite::TransactionBehavior::EXCLUSIVE);
  const std::vector<std::string> columns = columns_of_heats(database);
  for (const Axis& axis : heat_axes) {
    if (!lacks(columns, axis)) continue;
    database.exec(fmt::format("ALTER TABLE heats ADD COLUMN {} {} NOT NULL DEFAULT {}", axis.key,
                              type_of(axis), neutral_value(axis)));
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
  if (axis.kind == Axis::Kind::word) {
    (*this)(std::string(text_of(axis, point)));
  } else {
    (*this)(axis.get(point));
  }
}

void Reader::visit(const Axis& axis, HeatPoint& point) {
  if (axis.kind != Axis::Kind::word)
    return axis.set(point, statement_.getColumn(column_++).getInt64());
  if (const auto value = word_value(axis, statement_.getColumn(column_++).getString())) {
    axis.set(point, *value);
  } else {
    damaged_ = true;
  }
}

void Fingerprinter::visit(const Axis& axis, const HeatPoint& point) {
  if (!axis.adds_to(point)) return;
  if (axis.kind == Axis::Kind::word) {
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

std::vector<statistics::Observation> observations_of(const std::vector<Sample>& samples) {
  std::vector<statistics::Observation> observations;
  observations.reserve(samples.size());
  for (const Sample& sample : samples) {
    observations.push_back({sample.placement, sample.round, sample.time_ns, sample.process});
  }
  return observations;
}

}  // namespace attnscope::store
