// SPDX-License-Identifier: Apache-2.0
#include "engine/report/row_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/heat/axes.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/number_text.h"
#include "engine/report/row.h"
#include "engine/worker/protocol.h"

namespace attnscope::report {

namespace {

/// Replaces "{}" by the value and "(s)" by the plural ending.
std::string filled(std::string_view words, std::string_view value) {
  const std::size_t place = words.find("{}");
  if (place == std::string_view::npos) return std::string(words);
  std::string_view after = words.substr(place + 2);
  const bool has_plural = after.ends_with("(s)");
  if (has_plural) after.remove_suffix(3);
  return fmt::format("{}{}{}{}", words.substr(0, place), value, after,
                     has_plural && value != "1" ? "s" : "");
}

bool is_obvious(const Axis& axis, const HeatPoint& point) {
  return !axis.belongs_to(point) ||
         (axis.at_default != Axis::Default::counts && axis.is_at_default(point));
}

}  // namespace

std::vector<AxisValue> axes_of(const HeatPoint& point) {
  std::vector<AxisValue> all;
  for (const Axis& axis : heat_axes) {
    std::string value = text_of(axis, point);
    std::string words = is_obvious(axis, point) ? std::string() : filled(axis.in_titles, value);
    all.push_back({axis.key, std::move(value), std::move(words)});
  }
  return all;
}

std::string words_next_to_title(const Axis& axis, const std::string& value) {
  if (axis.kind == Axis::Kind::truth)
    return std::string(axis.alongside_truths[value == "true" ? 1 : 0]);
  return filled(axis.next_to_title, value);
}

bool comes_before(const HeatPoint& a, const HeatPoint& b) {
  for (const std::size_t place : nesting_order()) {
    const Axis& axis = heat_axes[place];
    if (axis.get(a) != axis.get(b)) return axis.get(a) < axis.get(b);
  }
  return false;
}

std::vector<bool> varying_axes(const std::vector<Row>& rows) {
  return varying_axes(all_rows(rows));
}

std::vector<bool> varying_axes(const std::vector<const Row*>& rows) {
  std::vector<bool> varying(axes_of({}).size(), false);
  if (rows.empty()) return varying;
  const HeatPoint& of_first = rows.front()->cell.point;
  const std::vector<AxisValue> first = axes_of(of_first);
  for (const Row* row : rows) {
    if (row->cell.point == of_first) continue;
    const std::vector<AxisValue> axes = axes_of(row->cell.point);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].value != first[i].value) varying[i] = true;
    }
  }
  return varying;
}

bool length_identifies_documents(const std::vector<const Row*>& rows) {
  std::map<std::int64_t, LengthDistribution> known;
  return std::ranges::all_of(rows, [&](const Row* row) {
    const HeatPoint& point = row->cell.point;
    const LengthDistribution& lengths = point.document_lengths;
    const LengthDistribution& first = rows.front()->cell.point.document_lengths;
    if (lengths.median != first.median || lengths.p90 != first.p90) return false;
    return known.emplace(point.sequence_tokens, point.document_lengths).first->second ==
           point.document_lengths;
  });
}

std::string words_of(const AxisValue& axis) {
  return axis.words.empty() ? fmt::format("{} {}", axis.key, axis.value) : axis.words;
}

std::string words_of(const HeatPoint& point, const std::vector<bool>& varying, bool wanted) {
  std::string text;
  const std::vector<AxisValue> axes = axes_of(point);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (varying[i] != wanted) continue;
    // An axis that varies is always named, even if its value is a default.
    const std::string words = wanted ? words_of(axes[i]) : axes[i].words;
    if (words.empty()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", words);
  }
  return text;
}

namespace {

Value real(double value) {
  return std::isfinite(value) ? Value(value) : Value();
}
Value real(const std::optional<double>& value) {
  return value ? real(*value) : Value();
}
Value word(std::string_view value) {
  return std::string(value);
}

/// A value that is present only for cells with trustworthy times.
template <typename T>
Value measured(const Row& row, T value) {
  if (!is_measured(row)) return {};
  if constexpr (std::is_same_v<T, double>) {
    return real(value);
  } else {
    return Value(value);
  }
}

/// Work is known for every planned cell, even if it did not fit.
Value work(const Row& row, double value) {
  return row.cell.damaged || !(value > 0) ? Value() : real(value);
}

/// [["attention", nanoseconds, useful FLOP], ...], for one call.
Value parts_as_json(const Row& row) {
  const std::vector<PartTime>& parts = row.cell.cell.parts;
  return !is_measured(row) || parts.empty() ? Value() : word(protocol::to_json(parts).dump());
}

Value window_of(const Row& row) {
  const std::optional<Window>& window = row.cell.cell.contender.window;
  if (!window) return {};
  return window->is_infinite() ? Value(std::string("inf")) : Value(window->tokens());
}

/// Documents per millisecond, if `time_ns` is the time of all documents.
double per_ms(const Row& row, double time_ns) {
  return documents_of(row) / (time_ns / 1e6);
}

Value document_tokens(const Row& row) {
  if (row.cell.cell.document_tokens > 0) return row.cell.cell.document_tokens;
  const Result<GroupSizes> sizes = group_sizes(row.cell.point);
  return sizes ? Value(sizes->document) : Value();
}

Value status_of(const Row& row) {
  return word(row.cell.damaged ? damaged_status : name_of(row.cell.cell.status));
}

Value reason_of(const Row& row) {
  if (row.cell.damaged) return word(damage_in_words(row.cell));
  return row.cell.cell.reason;
}

/// The model's row; the implementation is then that of its attention.
Value model_of(const Row& row) {
  const std::string& model = row.cell.cell.contender.model;
  return model.empty() ? Value() : Value(model);
}

/// An axis that does not apply to the point is empty, except that a missing query counts as 0.
template <std::size_t Place>
Value axis_value(const Row& row) {
  const Axis& axis = heat_axes[Place];
  const HeatPoint& point = row.cell.point;
  if (!axis.belongs_to(point))
    return axis.of == Axis::Of::queries ? Value(std::int64_t{0}) : Value();
  if (has_texts(axis)) return text_of(axis, point);
  if (axis.kind == Axis::Kind::truth) return axis.get(point) != 0;
  return axis.get(point);
}

template <std::size_t... Places>
constexpr std::array<Column, sizeof...(Places)> columns_of_axes(std::index_sequence<Places...>) {
  return {Column{heat_axes[Places].key, axis_value<Places>}...};
}

// In the order of heat_axes.
constexpr std::array axis_columns = columns_of_axes(std::make_index_sequence<heat_axes.size()>());

constexpr std::array columns_of_contenders{
    Column{"contender", [](const Row& r) -> Value { return r.cell.cell.contender.id(); }},
    Column{"name", [](const Row& r) -> Value { return r.cell.cell.contender.name; }},
    Column{"implementation",
           [](const Row& r) -> Value { return r.cell.cell.contender.implementation; }},
    Column{"pattern", [](const Row& r) -> Value { return r.cell.cell.contender.pattern; }},
    Column{"model", model_of},
    Column{"window", window_of},
};

// Values derived from an axis follow it.
constexpr Column document_tokens_column{"document_tokens", document_tokens};
constexpr Column batch_column{"batch", [](const Row& r) -> Value { return r.cell.cell.batch; }};

constexpr std::array measured_columns{
    Column{"status", status_of},
    Column{"reason", reason_of},
    Column{"median_ms", [](const Row& r) { return measured(r, r.cell.summary.median_ns / 1e6); }},
    Column{"low_ms", [](const Row& r) { return measured(r, r.cell.summary.low_ns / 1e6); }},
    Column{"high_ms", [](const Row& r) { return measured(r, r.cell.summary.high_ns / 1e6); }},
    Column{"p95_ms", [](const Row& r) { return measured(r, p95_ns(r.cell) / 1e6); }},
    Column{"samples",
           [](const Row& r) { return measured(r, std::int64_t{r.cell.summary.samples}); }},
    Column{"placements",
           [](const Row& r) { return measured(r, std::int64_t{r.cell.summary.placements}); }},
    Column{"outliers", [](const Row& r) { return measured(r, outlier_samples(r)); }},
    Column{"foreign_load", [](const Row& r) { return measured(r, median_foreign_load(r)); }},
    Column{"involuntary_switches",
           [](const Row& r) { return measured(r, involuntary_switches(r)); }},
    Column{"disturbed", [](const Row& r) { return measured(r, is_disturbed(r)); }},
    Column{"drift", [](const Row& r) { return measured(r, r.drift.change); }},
    Column{"drifted", [](const Row& r) { return measured(r, r.drift.is_flagged); }},
    Column{"throttled", [](const Row& r) { return measured(r, throttled_samples(r)); }},
    Column{"clock_mhz",
           [](const Row& r) { return r.cell.damaged ? Value() : real(median_clock_mhz(r)); }},
    Column{"temperature_c",
           [](const Row& r) { return r.cell.damaged ? Value() : real(median_temperature_c(r)); }},
    Column{"power_w",
           [](const Row& r) { return r.cell.damaged ? Value() : real(median_power_w(r)); }},
    Column{"enqueue_ms",
           [](const Row& r) {
             const std::optional<double> ns = median_enqueue_ns(r);
             return ns ? measured(r, *ns / 1e6) : Value();
           }},
    Column{"settled", [](const Row& r) { return measured(r, r.cell.cell.settled); }},
    Column{
        "ms_per_document",
        [](const Row& r) { return measured(r, r.cell.summary.median_ns / 1e6 / documents_of(r)); }},
    Column{"ms_per_1000_tokens",
           [](const Row& r) {
             // If lengths were drawn, only the longest is known.
             if (r.cell.point.document_lengths.is_drawn()) return Value();
             const auto thousands = static_cast<double>(r.cell.point.sequence_tokens) / 1000;
             return measured(r, r.cell.summary.median_ns / 1e6 / items_of(r) / thousands);
           }},
    Column{"documents_per_ms",
           [](const Row& r) { return measured(r, per_ms(r, r.cell.summary.median_ns)); }},
    Column{"documents_per_ms_low",
           [](const Row& r) { return measured(r, per_ms(r, r.cell.summary.high_ns)); }},
    Column{"documents_per_ms_high",
           [](const Row& r) { return measured(r, per_ms(r, r.cell.summary.low_ns)); }},
    Column{"peak_bytes", [](const Row& r) { return measured(r, peak_bytes(r.cell.cell.memory)); }},
    Column{"peak_bytes_per_document",
           [](const Row& r) { return measured(r, bytes_per_document(r)); }},
    Column{"reserved_bytes",
           [](const Row& r) { return measured(r, r.cell.cell.memory.reserved_bytes); }},
    Column{"workspace_bytes",
           [](const Row& r) { return measured(r, r.cell.cell.memory.workspace_bytes); }},
    Column{"process_peak_bytes",
           [](const Row& r) {
             const auto& peak = r.cell.cell.memory.process_peak_bytes;
             return peak ? measured(r, *peak) : Value();
           }},
    Column{"cache_bytes",
           [](const Row& r) {
             const auto& cache = r.cell.cell.memory.cache_bytes;
             return cache ? measured(r, *cache) : Value();
           }},
    Column{
        "relative_error",
        [](const Row& r) { return r.cell.damaged ? Value() : real(r.cell.cell.relative_error); }},
    Column{"error_bound",
           [](const Row& r) { return r.cell.damaged ? Value() : real(r.cell.cell.error_bound); }},
    Column{"useful_flop", [](const Row& r) { return work(r, r.cell.cell.work.useful_flop); }},
    Column{"least_bytes", [](const Row& r) { return work(r, r.cell.cell.work.least_bytes); }},
    Column{"exponentials", [](const Row& r) { return work(r, r.cell.cell.work.exponentials); }},
    Column{"executed_flop", [](const Row& r) { return work(r, r.cell.cell.work.executed_flop); }},
    Column{"executed_bytes", [](const Row& r) { return work(r, r.cell.cell.work.executed_bytes); }},
    Column{"executed_ratio", [](const Row& r) { return real(executed_ratio(r)); }},
    Column{"parts", parts_as_json},
    Column{"limit_ms", [](const Row& r) { return real(r.limit_ms); }},
    Column{"share_of_limit", [](const Row& r) { return real(r.share_of_limit); }},
};

constexpr std::array ratio_columns{
    Column{"ratio", [](const Row& r) { return r.ratio ? real(r.ratio->ratio) : Value(); }},
    Column{"ratio_low", [](const Row& r) { return r.ratio ? real(r.ratio->low) : Value(); }},
    Column{"ratio_high", [](const Row& r) { return r.ratio ? real(r.ratio->high) : Value(); }},
    Column{"verdict",
           [](const Row& r) { return r.ratio ? word(verdict_in_words(*r.ratio)) : Value(); }},
    Column{"paired", [](const Row& r) { return r.ratio ? Value(r.ratio->paired) : Value(); }},
};

constexpr std::array growth_columns{
    Column{"growth", [](const Row& r) { return r.growth ? real(r.growth->ratio) : Value(); }},
    Column{"growth_low", [](const Row& r) { return r.growth ? real(r.growth->low) : Value(); }},
    Column{"growth_high", [](const Row& r) { return r.growth ? real(r.growth->high) : Value(); }},
};

template <typename Get>
Value of_effectiveness(const Row& row, Get get) {
  return row.effectiveness ? get(*row.effectiveness) : Value();
}

template <typename Get>
Value of_tests(const Row& row, Get get) {
  const bool tested = row.effectiveness && row.effectiveness->tests;
  return tested ? get(*row.effectiveness->tests) : Value();
}

using Measured = MeasuredEffectiveness;
using statistics::PairedTests;

constexpr std::array effectiveness_columns{
    Column{"effectiveness",
           [](const Row& r) {
             return of_effectiveness(r, [](const Measured& own) { return real(own.mean); });
           }},
    Column{"effectiveness_measure",
           [](const Row& r) {
             return of_effectiveness(r, [](const Measured& own) { return word(own.measure); });
           }},
    Column{"effectiveness_difference",
           [](const Row& r) {
             return of_tests(r, [](const PairedTests& tests) { return real(tests.difference); });
           }},
    Column{"effectiveness_low90",
           [](const Row& r) {
             return of_tests(r, [](const PairedTests& tests) {
               return tests.interval90 ? real(tests.interval90->low) : Value();
             });
           }},
    Column{"effectiveness_high90",
           [](const Row& r) {
             return of_tests(r, [](const PairedTests& tests) {
               return tests.interval90 ? real(tests.interval90->high) : Value();
             });
           }},
    Column{"p_equivalence",
           [](const Row& r) {
             return of_tests(r, [](const PairedTests& tests) { return real(tests.p_equivalence); });
           }},
    Column{"equivalent",
           [](const Row& r) {
             return of_tests(r, [](const PairedTests& tests) { return Value(tests.equivalent); });
           }},
};

void add_axes(Axis::Column where, std::vector<Column>& all) {
  for (std::size_t place = 0; place < heat_axes.size(); ++place) {
    if (heat_axes[place].column != where) continue;
    all.push_back(axis_columns[place]);
    if (heat_axes[place].key == "query_tokens") all.push_back(document_tokens_column);
    if (heat_axes[place].key == "documents") all.push_back(batch_column);
  }
}

// Columns of every table.
const std::vector<Column>& plain_columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> columns(columns_of_contenders.begin(), columns_of_contenders.end());
    add_axes(Axis::Column::front, columns);
    add_axes(Axis::Column::back, columns);
    columns.insert(columns.end(), measured_columns.begin(), measured_columns.end());
    return columns;
  }();
  return all;
}

}  // namespace

std::vector<Column> columns(const Table& table) {
  std::vector<Column> all = plain_columns();
  if (table.baseline) all.insert(all.end(), ratio_columns.begin(), ratio_columns.end());
  if (table.has_growth) all.insert(all.end(), growth_columns.begin(), growth_columns.end());
  if (std::ranges::any_of(table.rows, [](const Row& row) { return row.effectiveness != nullptr; }))
    all.insert(all.end(), effectiveness_columns.begin(), effectiveness_columns.end());
  for (std::size_t place = 0; place < heat_axes.size(); ++place) {
    const Axis& axis = heat_axes[place];
    const bool is_used = std::ranges::any_of(
        table.rows, [&](const Row& row) { return !axis.is_at_default(row.cell.point); });
    if (axis.column == Axis::Column::when_used && is_used) all.push_back(axis_columns[place]);
  }
  return all;
}

std::span<const std::string_view> filter_keys() {
  static const std::vector<std::string_view> keys = [] {
    std::vector<std::string_view> all;
    all.reserve(columns_of_contenders.size() + heat_axes.size() + 3);
    for (const Column& column : columns_of_contenders) all.push_back(column.key);
    for (const Axis& axis : heat_axes) all.push_back(axis.key);
    all.insert(all.end(), {document_tokens_column.key, batch_column.key, "status"});
    return all;
  }();
  return keys;
}

std::vector<std::string> filter_words(const Row& row, std::string_view key) {
  std::vector<std::string> words;
  const Axis* const axis = find_axis(key);
  if (axis != nullptr) {
    const Column& column = axis_columns[static_cast<std::size_t>(axis - heat_axes.data())];
    words.push_back(text_of(column.value(row)));
  } else {
    const auto& all = plain_columns();
    const auto column = std::ranges::find(all, key, &Column::key);
    if (column != all.end()) words.push_back(text_of(column->value(row)));
  }
  // A contender also matches by its display name.
  if (key == "contender") words.push_back(row.cell.cell.contender.name);
  if (key == "window" && !row.cell.cell.contender.window) words = {"none"};
  // Also matches the sweep's value if it differs from the column's.
  if (key == "query_tokens") words.push_back(fmt::format("{}", row.cell.point.query_tokens));
  if (key == "batch") words.push_back(fmt::format("{}", row.cell.point.batch_max));
  return words;
}

std::string value_in_words(const Row& row, std::string_view key) {
  std::string value = filter_words(row, key).front();
  if (key == window_key) return row.cell.cell.contender.window ? "w = " + value : "no window";
  for (const AxisValue& axis : axes_of(row.cell.point)) {
    if (axis.key == key) return words_of(axis);
  }
  // Values of contender keys are self-explanatory; numbers need their key.
  const bool is_number =
      !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? fmt::format("{} {}", key, value) : value;
}

}  // namespace attnscope::report
