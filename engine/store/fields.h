#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One list of fields for each stored struct. Writing, reading and fingerprinting use the same list,
// so that they cannot diverge, and the structured bindings cause a compile error when a struct
// gains a field that the schema does not have yet.
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
    "executed_flop, "
    "executed_bytes, "
    "settled, parts, disturbed_by, median_ns, low_ns, high_ns, sample_count, placement_count";
inline constexpr std::string_view sample_columns =
    "process, placement, round, time_ns, iterations, involuntary_switches, foreign_load, "
    "clock_mhz, "
    "temperature_c, throttled, cpu_ns, waited_ns";
inline constexpr std::string_view restart_columns =
    "restarted_unix_ms, command_line, provenance, fingerprint";
inline constexpr std::string_view heat_columns = "heat_index, cell_count, fingerprint, restart";
inline constexpr std::string_view state_columns =
    "status, tag, note, started_unix_ms, finished_unix_ms, name, trashed_unix_ms";
inline constexpr std::string_view progress_columns =
    "heats_done, heats_planned, current, seconds_left, fingerprint";
inline constexpr std::string_view ceilings_columns =
    "threads, flop_per_second, exponentials_per_second, seconds_into_run, device, "
    "tensor_flop_per_second";

/// The columns of a point, one per axis.
[[nodiscard]] const std::string& point_columns();
/// SQL expressions that read rows, named `row`, of a file that may lack columns of later versions.
struct RowValues {
  std::string point;  // heats: the axis column or, if missing, its neutral default
  // NULL if the column is missing.
  std::string cell, sample, restart, progress;
  std::string joined_cell;  // a row named `cells`, joined with its heat
  std::string heat;         // fields outside its point
  std::string state_print;  // runs: state_fingerprint
  friend bool operator==(const RowValues&, const RowValues&) = default;
};
/// An error when the file has an unknown axis.
[[nodiscard]] Result<RowValues> row_values(const Database& database,
                                           const std::filesystem::path& file);
/// The expressions for a file with all columns.
[[nodiscard]] RowValues all_row_values();
/// Adds the columns of later versions to the file.
void add_later_columns(Database& database);

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

/// Adds values to a fingerprint.
class Fingerprinter {
 public:
  void operator()(bool value) { print_.integer(value ? 1 : 0); }
  void operator()(int value) { print_.integer(value); }
  void operator()(std::int64_t value) { print_.integer(value); }
  void operator()(std::uint64_t value) { print_.integer(static_cast<std::int64_t>(value)); }
  void operator()(double value) { print_.real(value); }
  void operator()(const std::string& value) { print_.text(value); }
  void operator()(const std::optional<double>& value);
  void operator()(const std::optional<std::int64_t>& value);
  void operator()(const std::optional<Window>& value);
  void operator()(const std::vector<PartTime>& value);
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(Enum value) { print_.text(name_of(value)); }
  void visit(const Axis& axis, const HeatPoint& point);
  [[nodiscard]] std::int64_t value() const { return print_.value(); }

 private:
  Fingerprint print_;
};

template <typename Visitor, typename... Fields>
void visit_all(Visitor& visit, Fields&... fields) {
  (visit(fields), ...);
}

/// Fingerprints omit neutral values, so that rows keep their fingerprint when new fields are added.
template <typename Visitor, typename... Fields>
void visit_unless(bool is_neutral, Visitor& visit, Fields&... fields) {
  if (std::is_same_v<Visitor, Fingerprinter> && is_neutral) return;
  visit_all(visit, fields...);
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
            run.trashed_unix_ms);
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
  visit_all(visit, pattern, implementation, window, name, pattern_json);
  visit_unless(model.empty(), visit, model);
  visit_all(visit, status, reason, batch, query_tokens, document_tokens, relative_error,
            error_bound, requested, reserved, workspace);
  visit_unless(!process_peak, visit, process_peak);
  visit_unless(!cache, visit, cache);
  visit_all(visit, useful_flop, least_bytes, exponentials, executed_flop, executed_bytes, settled);
  visit_unless(parts.empty(), visit, parts);
  visit_unless(disturbed_by.empty(), visit, disturbed_by);
  visit_all(visit, median, low, high, sample_count, placement_count);
}

template <typename Visitor, typename OneSample>  // Sample
void visit_sample(Visitor& visit, OneSample& sample) {
  auto& [process, placement, round, time_ns, iterations, involuntary_switches, foreign_load,
         clock_mhz, temperature_c, throttled, cpu_ns, waited_ns] = sample;
  visit_all(visit, process, placement, round, time_ns, iterations, involuntary_switches,
            foreign_load);
  visit_unless(!clock_mhz && !temperature_c && !throttled, visit, clock_mhz, temperature_c,
               throttled);
  visit_unless(!cpu_ns && !waited_ns, visit, cpu_ns, waited_ns);
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
  visit_all(visit, threads, flop_per_second, exponentials_per_second, seconds_into_run);
  visit_unless(device == DeviceKind::cpu, visit, device, tensor_flop_per_second);
}

// Values of the fingerprint columns.
[[nodiscard]] std::int64_t fingerprint_of(const std::string& uuid, const NewRun& run);
[[nodiscard]] std::int64_t fingerprint_of(const std::vector<Sample>& samples,
                                          const std::vector<bool>& outliers);
[[nodiscard]] std::int64_t fingerprint_of(const std::string& uuid, const HeatPoint& point,
                                          int ordinal, const Cell& cell,
                                          const statistics::Summary& summary,
                                          std::int64_t samples_fingerprint);
[[nodiscard]] std::int64_t fingerprint_of(const std::string& uuid, const Ceilings& ceilings);
[[nodiscard]] std::int64_t fingerprint_of(const std::string& uuid, const Restart& restart);
/// `restart` is included only if present: rows of the first start keep the fingerprint of versions
/// that did not store it.
[[nodiscard]] std::int64_t fingerprint_of(const std::string& uuid, int heat_index,
                                          std::int64_t cell_count, const HeatPoint& point,
                                          std::optional<std::int64_t> restart);
[[nodiscard]] std::int64_t fingerprint_of(const std::string& uuid, const Progress& progress);

/// Fingerprints of a run's state: the stored one, and that of its current values.
struct StatePrint {
  std::optional<std::int64_t> stored;  // nullopt: written by a version without it
  std::int64_t print = 0;
  std::int64_t without_ceilings = 0;  // value in versions that did not include their number
  [[nodiscard]] bool matches() const {
    return !stored || *stored == print || *stored == without_ceilings;
  }
};
/// `values`: how rows of the schema are read.
[[nodiscard]] StatePrint state_print(const Database& database, std::string_view schema,
                                     const RowValues& values, std::int64_t number);
/// Call it after every change of a run's state, with the fingerprints from before the change: a
/// mismatch before remains a mismatch.
void renew_state_print(Database& database, std::int64_t number, const StatePrint& before);

/// The basis from all cells of a heat that have times.
[[nodiscard]] statistics::HeatBasis basis_of(const HeatPoint& point,
                                             const std::vector<const Cell*>& cells);

}  // namespace attnscope::store
