#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One list of fields for each stored struct, used for writing and for reading, so that the two
// cannot diverge. The structured bindings cause a compile error when a struct gains a field that
// the schema does not have. Fingerprints are over the stored rows themselves.
//
//   Writer writer(statement);      visit_point(writer, heat.point);
//   Reader reader(statement, 0);   visit_point(reader, stored.point);

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fingerprint.h"
#include "engine/heat/axes.h"
#include "engine/heat/cell.h"
#include "engine/statistics/summary.h"
#include "engine/store/database.h"
#include "engine/store/store.h"

namespace attnscope::store {

// The columns of each list, in the order of the list.
inline constexpr std::string_view run_columns =
    "sweep_name, sweep_text, command_line, provenance, device, heats_planned, process_id, "
    "process_start_ticks";
inline constexpr std::string_view cell_columns =
    "pattern, implementation, attention_window, name, pattern_json, model, status, reason, batch, "
    "query_tokens, document_tokens, relative_error, error_bound, requested_bytes, reserved_bytes, "
    "workspace_bytes, process_peak_bytes, cache_bytes, useful_flop, least_bytes, exponentials, "
    "executed_flop, executed_bytes, settled, parts, disturbed_by, median_ns, low_ns, high_ns, "
    "sample_count, placement_count";
inline constexpr std::string_view sample_columns =
    "process, placement, round, time_ns, iterations, involuntary_switches, foreign_load, "
    "clock_mhz, temperature_c, throttled, cpu_ns, waited_ns, power_w";
inline constexpr std::string_view restart_columns = "restarted_unix_ms, command_line, provenance";
inline constexpr std::string_view heat_columns = "heat_index, cell_count, restart";
inline constexpr std::string_view state_columns =
    "status, tag, note, started_unix_ms, finished_unix_ms, name, trashed_unix_ms, heats_stored";
inline constexpr std::string_view progress_columns =
    "heats_done, heats_planned, current, seconds_left";
inline constexpr std::string_view ceilings_columns =
    "threads, flop_per_second, exponentials_per_second, seconds_into_run, device, "
    "tensor_flop_per_second";

/// The columns of a point, one per axis.
[[nodiscard]] const std::string& point_columns();
/// The values of a cell's fingerprint before those of its samples: of the joined tables runs, heats
/// and cells.
[[nodiscard]] const std::string& printed_cell_columns();

/// The list with an alias before every name: "cells.pattern, cells.implementation".
[[nodiscard]] std::string qualified(std::string_view alias, std::string_view columns);
/// "?, ?, ?": one for each column of the list, plus `more`.
[[nodiscard]] std::string places(std::string_view columns, int more);

/// Binds values to a statement's next parameters.
class Writer {
 public:
  explicit Writer(Statement& statement) : statement_(statement) {}
  void operator()(bool value) { (*this)(std::int64_t{value ? 1 : 0}); }
  void operator()(int value) { (*this)(std::int64_t{value}); }
  void operator()(std::int64_t value) { statement_.bind(++place_, value); }
  void operator()(std::uint64_t value) { (*this)(static_cast<std::int64_t>(value)); }
  void operator()(double value);  // stores NaN, which SQLite turns into NULL, as the text 'nan'
  void operator()(const std::string& value) { statement_.bind(++place_, value); }
  void operator()(const Window& value) { (*this)(value.text()); }
  void operator()(const std::vector<PartTime>& value);  // stores no parts as NULL
  template <typename Value>
  void operator()(const std::optional<Value>& value) {
    if (value) {
      (*this)(*value);
    } else {
      statement_.bind(++place_);  // NULL
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(Enum value) { (*this)(std::string(name_of(value))); }
  void visit(const Axis& axis, const HeatPoint& point);

 private:
  Statement& statement_;
  int place_ = 0;
};

/// Reads a row's columns in order. An unknown word of an axis is reported as damage, not as an
/// error.
class Reader {
 public:
  Reader(const Statement& statement, int first_column)
      : statement_(statement), column_(first_column) {}
  [[nodiscard]] bool damaged() const { return damaged_; }
  void skip(int columns) { column_ += columns; }
  void operator()(bool& value) { value = statement_.getColumn(column_++).getInt64() != 0; }
  void operator()(int& value) {
    value = static_cast<int>(statement_.getColumn(column_++).getInt64());
  }
  void operator()(std::int64_t& value) { value = statement_.getColumn(column_++).getInt64(); }
  void operator()(std::uint64_t& value) {
    value = static_cast<std::uint64_t>(statement_.getColumn(column_++).getInt64());
  }
  void operator()(double& value) { value = real_at(statement_, column_++); }
  void operator()(std::string& value) { value = statement_.getColumn(column_++).getString(); }
  void operator()(std::optional<double>& value);
  void operator()(std::optional<std::int64_t>& value);
  void operator()(std::optional<Window>& value);
  void operator()(std::vector<PartTime>& value);
  void operator()(DeviceKind& value) { word(parse_device, value); }
  void operator()(CellStatus& value) { word(parse_cell_status, value); }
  void visit(const Axis& axis, HeatPoint& point);

 private:
  template <typename Parse, typename Enum>
  void word(Parse parse, Enum& value) {
    if (const Result<Enum> parsed = parse(statement_.getColumn(column_++).getString())) {
      value = *parsed;
    } else {
      damaged_ = true;
    }
  }
  const Statement& statement_;
  int column_;
  bool damaged_ = false;
};

template <typename Visitor, typename... Fields>
void visit_all(Visitor& visit, Fields&... fields) {
  (visit(fields), ...);
}

template <typename Visitor, typename Run>  // Run: NewRun
void visit_run(Visitor& visit, Run& run) {
  auto& [sweep_name, sweep_text, command_line, provenance, device, heats_planned, process_id,
         process_start_ticks] = run;
  visit_all(visit, sweep_name, sweep_text, command_line, provenance, device, heats_planned,
            process_id, process_start_ticks);
}

/// The fields of a run that change after its start, with its status as stored.
template <typename Visitor, typename Word, typename Run>  // Word: std::string, Run: RunInfo
void visit_state(Visitor& visit, Word& status, Run& run) {
  visit_all(visit, status, run.tag, run.note, run.started_unix_ms, run.finished_unix_ms, run.name,
            run.trashed_unix_ms, run.heats_stored);
}

template <typename Visitor, typename OneProgress>  // Progress
void visit_progress(Visitor& visit, OneProgress& progress) {
  auto& [heats_done, heats_planned, current, seconds_left] = progress;
  visit_all(visit, heats_done, heats_planned, current, seconds_left);
}

template <typename Visitor, typename Point>  // Point: HeatPoint
void visit_point(Visitor& visitor, Point& point) {
  for (const Axis& axis : heat_axes) visitor.visit(axis, point);
}

/// All fields of a cell except its samples.
template <typename Visitor, typename OneCell, typename Summary>  // Cell, statistics::Summary
void visit_cell(Visitor& visit, OneCell& cell, Summary& summary) {
  auto& [contender, status, reason, batch, query_tokens, document_tokens, samples, relative_error,
         error_bound, memory, work, settled, parts, disturbed_by] = cell;
  auto& [pattern, implementation, window, name, pattern_json, model] = contender;
  auto& [requested, reserved, workspace, process_peak, cache] = memory;
  auto& [useful_flop, least_bytes, exponentials, executed_flop, executed_bytes] = work;
  auto& [median, low, high, sample_count, placement_count] = summary;
  visit_all(visit, pattern, implementation, window, name, pattern_json, model, status, reason,
            batch, query_tokens, document_tokens, relative_error, error_bound, requested, reserved,
            workspace, process_peak, cache, useful_flop, least_bytes, exponentials, executed_flop,
            executed_bytes, settled, parts, disturbed_by, median, low, high, sample_count,
            placement_count);
}

template <typename Visitor, typename OneSample>  // Sample
void visit_sample(Visitor& visit, OneSample& sample) {
  auto& [process, placement, round, time_ns, iterations, involuntary_switches, foreign_load,
         clock_mhz, temperature_c, throttled, cpu_ns, waited_ns, power_w] = sample;
  visit_all(visit, process, placement, round, time_ns, iterations, involuntary_switches,
            foreign_load, clock_mhz, temperature_c, throttled, cpu_ns, waited_ns, power_w);
}

template <typename Visitor, typename OneRestart>  // Restart
void visit_restart(Visitor& visit, OneRestart& restart) {
  auto& [restarted_unix_ms, command_line, provenance, damaged] = restart;
  visit_all(visit, restarted_unix_ms, command_line, provenance);
}

/// All fields of ceilings except the copy rates.
template <typename Visitor, typename OneCeilings>  // Ceilings
void visit_ceilings(Visitor& visit, OneCeilings& ceilings) {
  auto& [threads, flop_per_second, exponentials_per_second, copy, seconds_into_run, device,
         tensor_flop_per_second] = ceilings;
  visit_all(visit, threads, flop_per_second, exponentials_per_second, seconds_into_run, device,
            tensor_flop_per_second);
}

/// What a fingerprint covers: the rows of `queries`, whose parameter is the number in `key` of the
/// row of `table` that has it in `column`. "{0}" is the schema, "main" or an attached database.
struct Printed {
  std::string table, key, column;
  std::vector<std::string> queries;
};
[[nodiscard]] const Printed& start_print();  // the start of a run
[[nodiscard]] const Printed& state_print();  // the rest of its row, and how much belongs to it
[[nodiscard]] const Printed& restart_print();
[[nodiscard]] const Printed& ceilings_print();
[[nodiscard]] const Printed& cell_print();

/// Adds the row's columns `first` to `end` - 1; `end` < 0: all from `first` on.
void add_row(Fingerprint& print, const Statement& row, int first = 0, int end = -1);
[[nodiscard]] std::int64_t fingerprint_of(const Database& database, const Printed& printed,
                                          std::int64_t number, std::string_view schema = "main");
/// Whether the row's fingerprint is that of its values.
[[nodiscard]] bool matches(const Database& database, const Printed& printed, std::int64_t number,
                           std::string_view schema = "main");
/// Stores the fingerprint of the row's present values.
void renew_fingerprint(Database& database, const Printed& printed, std::int64_t number);

/// The basis from all cells of a heat that have times.
[[nodiscard]] statistics::HeatBasis basis_of(const HeatPoint& point,
                                             const std::vector<const Cell*>& cells);

}  // namespace attnscope::store
