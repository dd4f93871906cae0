// SPDX-License-Identifier: Apache-2.0
//
// Conversion of databases of earlier versions (see implementation.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "engine/store/database.h"
#include "engine/store/fields.h"
#include "engine/store/implementation.h"

namespace attnscope::store {
namespace {

constexpr std::array tables{"runs",  "restarts", "progress", "heats",
                            "cells", "samples",  "ceilings", "copy_rates"};

/// A fingerprint of version 8: over values without their types, where neutral ones are left out.
class OlderPrint : public Fingerprint {
 public:
  using Names = std::initializer_list<const char*>;
  void texts(const Statement& row, Names names) {
    for (const char* name : names) text(row.getColumn(name).getString());
  }
  void integers(const Statement& row, Names names) {
    for (const char* name : names) integer(row.getColumn(name).getInt64());
  }
  void reals(const Statement& row, Names names) {
    for (const char* name : names) real(real_at(row, row.getColumnIndex(name)));
  }
  /// Each preceded by whether there is one.
  void maybe_reals(const Statement& row, Names names) {
    for (const char* name : names) {
      if (is_there(row, name)) reals(row, {name});
    }
  }
  bool is_there(const Statement& row, const char* name) {
    const bool is_null = row.getColumn(name).isNull();
    byte(is_null ? 0 : 1);
    return !is_null;
  }
  void point(const HeatPoint& point) {
    for (const Axis& axis : heat_axes) {
      if (!axis.adds_to(point)) continue;
      if (has_texts(axis)) {
        text(text_of(axis, point));
      } else {
        integer(axis.get(point));
      }
    }
  }
};

std::vector<std::string> columns_of(const Database& database, const std::string& table,
                                    const std::string& schema) {
  std::vector<std::string> columns;
  Statement list(database, "SELECT name FROM pragma_table_info(?, ?)");
  SQLite::bind(list, table, schema);
  while (list.executeStep()) columns.push_back(list.getColumn(0).getString());
  return columns;
}

/// The expression that gives the column's value from a row of the older table.
std::string value_of(const std::string& table, const std::string& column, bool is_there) {
  if (column == "disturbed_by") return is_there ? "coalesce(disturbed_by, '')" : "''";
  if (is_there) return column;
  if (column.ends_with("fingerprint")) return "0";  // renewed afterwards
  if (column == "heats_stored")
    return "(SELECT count(*) FROM other.heats WHERE run_number = number)";
  if (table == "restarts") return "rowid";
  const Axis* axis = table == "heats" ? find_axis(column) : nullptr;
  if (axis == nullptr) return "NULL";
  const std::int64_t value = axis->default_value();
  return has_texts(*axis) ? fmt::format("'{}'", text_of(*axis, value)) : std::to_string(value);
}

void copy_rows(Database& database) {
  for (const std::string table : tables) {
    const std::vector<std::string> there = columns_of(database, table, "other");
    std::string columns, values;
    for (const std::string& column : columns_of(database, table, "main")) {
      const char* comma = columns.empty() ? "" : ", ";
      const bool is_there = std::ranges::find(there, column) != there.end();
      columns += fmt::format("{}{}", comma, column);
      values += fmt::format("{}{}", comma, value_of(table, column, is_there));
    }
    database.exec(fmt::format("INSERT INTO main.{0} ({1}) SELECT {2} FROM other.{0} NOT INDEXED",
                              table, columns, values));
  }
  // Numbers of removed runs are never used again.
  database.exec(
      "UPDATE main.sqlite_sequence SET seq = (SELECT seq FROM other.sqlite_sequence WHERE name = "
      "'runs') WHERE name = 'runs'");
}

void sign(Database& database, const Printed& printed, std::int64_t number, bool is_sound) {
  renew_fingerprint(database, printed, number);
  if (is_sound) return;
  Statement spoil(database, fmt::format("UPDATE main.{0} SET {1} = ~{1} WHERE {2} = ?",
                                        printed.table, printed.column, printed.key));
  execute(spoil, number);
}

/// The first row with this number.
Statement row_of(const Database& database, const std::string& sql, std::int64_t number) {
  Statement row(database, sql);
  row.bind(1, number);
  static_cast<void>(row.executeStep());
  return row;
}

/// The value in the older file; nothing for NULL and for a column that it lacks.
std::optional<std::int64_t> older_value(const Database& database, const std::string& table,
                                        const std::string& key, const std::string& column,
                                        std::int64_t number) {
  const Statement row =
      row_of(database, fmt::format("SELECT * FROM other.{} WHERE {} = ?", table, key), number);
  for (int i = 0; row.hasRow() && i < row.getColumnCount(); ++i) {
    if (row.getColumn(i).getName() != column || row.getColumn(i).isNull()) continue;
    return row.getColumn(i).getInt64();
  }
  return std::nullopt;
}

std::vector<std::int64_t> numbers(const Database& database, const std::string& sql,
                                  std::int64_t parent) {
  std::vector<std::int64_t> found;
  Statement list(database, sql);
  list.bind(1, parent);
  while (list.executeStep()) found.push_back(list.getColumn(0).getInt64());
  return found;
}

void sign_run(Database& database, std::int64_t number) {
  const Statement run = row_of(database, "SELECT * FROM main.runs WHERE number = ?", number);
  OlderPrint start;
  start.texts(run, {"uuid", "sweep_name", "sweep_text", "command_line", "provenance", "device"});
  start.integers(run, {"heats_planned", "process_id", "process_start_ticks"});
  const bool is_sound =
      older_value(database, "runs", "number", "fingerprint", number) == start.value();

  OlderPrint state;
  state.texts(run, {"uuid", "status", "tag", "note"});
  state.integers(run, {"started_unix_ms", "finished_unix_ms"});
  state.texts(run, {"name"});
  state.integers(run, {"trashed_unix_ms"});
  const auto count_of = [&](const char* table) {
    return static_cast<std::int64_t>(
        numbers(database, fmt::format("SELECT rowid FROM main.{} WHERE run_number = ?", table),
                number)
            .size());
  };
  state.integer(count_of("restarts"));
  const std::int64_t without_ceilings = state.value();
  state.integer(count_of("ceilings"));
  const auto stored = older_value(database, "runs", "number", "state_fingerprint", number);
  const bool has_sound_state = !stored || *stored == state.value() || *stored == without_ceilings;

  sign(database, start_print(), number, is_sound);
  sign(database, state_print(), number, has_sound_state);
}

void sign_restart(Database& database, const std::string& uuid, std::int64_t number,
                  std::int64_t id) {
  const Statement row = row_of(database, "SELECT * FROM main.restarts WHERE id = ?", id);
  OlderPrint print;
  print.text(uuid);
  print.integers(row, {"restarted_unix_ms"});
  print.texts(row, {"command_line", "provenance"});
  const auto stored = older_value(database, "restarts", "rowid", "fingerprint", id);
  sign(database, restart_print(), id, !stored || *stored == print.value());
  if (!stored) return;
  // Heats refer to it by its fingerprint.
  Statement refer(database,
                  "UPDATE main.heats SET restart = (SELECT fingerprint FROM main.restarts WHERE id "
                  "= ?) WHERE id IN (SELECT id FROM other.heats WHERE run_number = ? AND restart = "
                  "?)");
  execute(refer, id, number, *stored);
}

void sign_ceilings(Database& database, const std::string& uuid, std::int64_t id) {
  const Statement row = row_of(database, "SELECT * FROM main.ceilings WHERE id = ?", id);
  OlderPrint print;
  print.text(uuid);
  print.integers(row, {"threads"});
  print.reals(row, {"flop_per_second", "exponentials_per_second", "seconds_into_run"});
  if (row.getColumn("device").getString() != name_of(DeviceKind::cpu)) {
    print.texts(row, {"device"});
    print.reals(row, {"tensor_flop_per_second"});
  }
  const std::string of_rates = "FROM main.copy_rates WHERE ceilings_id = ? ORDER BY ordinal";
  print.integer(
      static_cast<std::int64_t>(numbers(database, "SELECT ordinal " + of_rates, id).size()));
  Statement rate = row_of(database, "SELECT * " + of_rates, id);
  for (bool more = rate.hasRow(); more; more = rate.executeStep()) {
    print.integers(rate, {"working_set_bytes"});
    print.reals(rate, {"bytes_per_second"});
  }
  sign(database, ceilings_print(), id,
       older_value(database, "ceilings", "id", "fingerprint", id) == print.value());
}

std::int64_t older_samples_print(const Database& database, std::int64_t cell) {
  const std::string of_samples = "FROM main.samples WHERE cell_id = ? ORDER BY ordinal";
  OlderPrint print;
  print.integer(
      static_cast<std::int64_t>(numbers(database, "SELECT ordinal " + of_samples, cell).size()));
  Statement row = row_of(database, "SELECT * " + of_samples, cell);
  for (bool more = row.hasRow(); more; more = row.executeStep()) {
    print.integers(row, {"process", "placement", "round"});
    print.reals(row, {"time_ns"});
    print.integers(row, {"iterations", "involuntary_switches"});
    print.reals(row, {"foreign_load"});
    const std::int64_t throttled = row.getColumn("throttled").getInt64() != 0 ? 1 : 0;
    if (!row.getColumn("clock_mhz").isNull() || !row.getColumn("temperature_c").isNull() ||
        throttled != 0) {
      print.maybe_reals(row, {"clock_mhz", "temperature_c"});
      print.integer(throttled);
    }
    if (!row.getColumn("cpu_ns").isNull() || !row.getColumn("waited_ns").isNull())
      print.maybe_reals(row, {"cpu_ns", "waited_ns"});
    print.integer(row.getColumn("outlier").getInt64() != 0 ? 1 : 0);
  }
  return print.value();
}

void sign_cell(Database& database, const std::string& uuid, const HeatPoint& point, std::int64_t id,
               bool is_heat_sound) {
  const std::int64_t samples = older_samples_print(database, id);
  const Statement row = row_of(database, "SELECT * FROM main.cells WHERE id = ?", id);
  OlderPrint print;
  print.text(uuid);
  print.point(point);
  print.integers(row, {"ordinal"});
  print.texts(row, {"pattern", "implementation"});
  if (print.is_there(row, "attention_window")) print.texts(row, {"attention_window"});
  print.texts(row, {"name", "pattern_json"});
  if (row.getColumn("model").getBytes() > 0) print.texts(row, {"model"});
  print.texts(row, {"status", "reason"});
  print.integers(row, {"batch", "query_tokens", "document_tokens"});
  print.maybe_reals(row, {"relative_error", "error_bound"});
  print.integers(row, {"requested_bytes", "reserved_bytes", "workspace_bytes"});
  for (const char* name : {"process_peak_bytes", "cache_bytes"}) {
    if (row.getColumn(name).isNull()) continue;
    print.byte(1);
    print.integers(row, {name});
  }
  print.reals(row,
              {"useful_flop", "least_bytes", "exponentials", "executed_flop", "executed_bytes"});
  print.integer(row.getColumn("settled").getInt64() != 0 ? 1 : 0);
  std::vector<PartTime> parts;
  Reader(row, row.getColumnIndex("parts"))(parts);
  for (const PartTime& part : parts) {
    print.text(part.name);
    print.real(part.time_ns);
    print.real(part.useful_flop);
  }
  if (row.getColumn("disturbed_by").getBytes() > 0) print.texts(row, {"disturbed_by"});
  print.reals(row, {"median_ns", "low_ns", "high_ns"});
  print.integers(row, {"sample_count", "placement_count"});
  print.integer(samples);
  sign(database, cell_print(), id,
       is_heat_sound && older_value(database, "cells", "id", "fingerprint", id) == print.value());
}

void sign_heat(Database& database, const std::string& uuid, std::int64_t id) {
  const Statement row =
      row_of(database,
             fmt::format("SELECT {}, heat_index, cell_count FROM main.heats WHERE id = ?",
                         point_columns()),
             id);
  HeatPoint point;
  Reader read(row, 0);
  visit_point(read, point);
  OlderPrint print;
  print.text(uuid);
  print.integers(row, {"heat_index", "cell_count"});
  print.point(point);
  const std::int64_t restart = older_value(database, "heats", "id", "restart", id).value_or(0);
  if (restart != 0) print.integer(restart);
  const auto stored = older_value(database, "heats", "id", "fingerprint", id);
  const bool is_sound = !read.damaged() && (!stored || *stored == print.value());
  for (const std::int64_t cell :
       numbers(database, "SELECT id FROM main.cells WHERE heat_id = ?", id)) {
    sign_cell(database, uuid, point, cell, is_sound);
  }
}

void sign_all(Database& database) {
  Statement runs(database, "SELECT number, uuid FROM main.runs");
  while (runs.executeStep()) {
    const std::int64_t number = runs.getColumn(0).getInt64();
    const std::string uuid = runs.getColumn(1).getString();
    const auto of_run = [&](const char* table) {
      return numbers(database, fmt::format("SELECT id FROM main.{} WHERE run_number = ?", table),
                     number);
    };
    sign_run(database, number);
    for (const std::int64_t id : of_run("restarts")) sign_restart(database, uuid, number, id);
    for (const std::int64_t id : of_run("ceilings")) sign_ceilings(database, uuid, id);
    for (const std::int64_t id : of_run("heats")) sign_heat(database, uuid, id);
  }
}

/// Version 9 and later: only the fingerprints of cells cover columns that the file may lack. One
/// that does not match is kept, and does not match the converted cell either.
void renew_cell_prints(Database& database) {
  Printed older = cell_print();
  for (const std::string table : {"heats", "cells", "samples"}) {
    const std::vector<std::string> there = columns_of(database, table, "other");
    for (const std::string& column : columns_of(database, table, "main")) {
      if (std::ranges::find(there, column) != there.end()) continue;
      for (std::string& query : older.queries) {
        for (const std::string& name :
             {fmt::format(" {}.{},", table, column), fmt::format(" {},", column)}) {
          if (const std::size_t at = query.find(name); at != std::string::npos)
            query.erase(at, name.size());
        }
      }
    }
  }
  for (const std::int64_t cell : numbers(database, "SELECT id FROM main.cells WHERE id > ?", 0)) {
    if (matches(database, older, cell, "other")) renew_fingerprint(database, cell_print(), cell);
  }
}

}  // namespace

OpenedDatabase converted(const std::string& older_uri) {
  const std::string uri = fmt::format("file:/{}?vfs=memdb", new_uuid());
  OpenedDatabase memory{open_database(uri, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE),
                        fmt::format("{}&mode=ro", uri)};
  create_schema(memory.database);
  attach(memory.database, older_uri, "other");
  Transaction transaction(memory.database);
  copy_rows(memory.database);
  constexpr int with_typed_prints = 9;
  if (first_integer(memory.database, "PRAGMA other.user_version") < with_typed_prints) {
    sign_all(memory.database);
  } else {
    renew_cell_prints(memory.database);
  }
  transaction.commit();
  memory.database.exec("DETACH DATABASE other");
  return memory;
}

void convert_in_place(Database& database, const std::filesystem::path& file) {
  Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (!is_older(static_cast<int>(first_integer(database, "PRAGMA user_version")))) return;
  const OpenedDatabase memory = converted(uri_of(file, "mode=ro"));
  attach(database, memory.uri, "memory");
  for (const char* table : tables) database.exec(fmt::format("DROP TABLE main.{}", table));
  database.exec(schema());
  for (const char* table : tables)
    database.exec(fmt::format("INSERT INTO main.{0} SELECT * FROM memory.{0}", table));
  database.exec(
      "UPDATE main.sqlite_sequence SET seq = (SELECT seq FROM memory.sqlite_sequence WHERE name = "
      "'runs') WHERE name = 'runs'");
  database.exec(fmt::format("PRAGMA main.user_version = {}", schema_version));
  transaction.commit();
  database.exec("DETACH DATABASE memory");
}

}  // namespace attnscope::store
