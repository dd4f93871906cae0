// SPDX-License-Identifier: Apache-2.0
#include "engine/report/row_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/report/conditions.h"

namespace attnscope::report {
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

/// A value that only a cell with trusted times has.
template <typename T>
Value measured(const Row& row, T value) {
  if (!is_measured(row)) return {};
  if constexpr (std::is_same_v<T, double>) {
    return real(value);
  } else {
    return Value(value);
  }
}

/// Work is known of a cell that was planned, even if it then did not fit.
Value work(const Row& row, double value) {
  return row.cell.damaged || !(value > 0) ? Value() : real(value);
}

Value window_of(const Row& row) {
  const std::optional<Window>& window = row.cell.cell.contender.window;
  if (!window) return {};
  return window->is_infinite() ? Value(std::string("inf")) : Value(window->tokens());
}

Value query_tokens(const Row& row) {
  // Without query there is none to count, whatever the sweep says.
  const bool has_query = row.cell.point.operation != Operation::windowed_matmul;
  return has_query ? row.cell.point.query_tokens : std::int64_t{0};
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
  if (row.cell.damaged) return word("its stored values do not match their fingerprint");
  return row.cell.cell.reason;
}

/// The model's row; the implementation is then that of the attention inside.
Value model_of(const Row& row) {
  const std::string& model = row.cell.cell.contender.model;
  return model.empty() ? Value() : Value(model);
}

/// A value that models alone have.
template <typename T>
Value of_model(const Row& row, T value) {
  return row.cell.point.operation == Operation::model ? Value(value) : Value();
}

// Of every table.
constexpr std::array plain_columns{
    Column{"contender", [](const Row& r) -> Value { return r.cell.cell.contender.id(); }},
    Column{"name", [](const Row& r) -> Value { return r.cell.cell.contender.name; }},
    Column{"implementation",
           [](const Row& r) -> Value { return r.cell.cell.contender.implementation; }},
    Column{"pattern", [](const Row& r) -> Value { return r.cell.cell.contender.pattern; }},
    Column{"model", model_of},
    Column{"window", window_of},
    Column{"sequence_tokens", [](const Row& r) -> Value { return r.cell.point.sequence_tokens; }},
    Column{"query_tokens", query_tokens},
    Column{"document_tokens", document_tokens},
    Column{"documents", [](const Row& r) -> Value { return r.cell.point.documents; }},
    Column{"batch", [](const Row& r) -> Value { return r.cell.cell.batch; }},
    Column{"heads", [](const Row& r) -> Value { return r.cell.point.heads; }},
    Column{"head_dim", [](const Row& r) -> Value { return r.cell.point.head_dim; }},
    Column{"layers", [](const Row& r) { return of_model(r, r.cell.point.layers); }},
    Column{"feed_forward", [](const Row& r) { return of_model(r, r.cell.point.feed_forward); }},
    Column{"dtype", [](const Row& r) { return word(name_of(r.cell.point.dtype)); }},
    Column{"memory_order", [](const Row& r) { return word(name_of(r.cell.point.memory_order)); }},
    Column{"cache", [](const Row& r) { return word(name_of(r.cell.point.cache)); }},
    Column{"device", [](const Row& r) { return word(name_of(r.cell.point.device)); }},
    Column{"threads", [](const Row& r) -> Value { return std::int64_t{r.cell.point.threads}; }},
    Column{"operation", [](const Row& r) { return word(name_of(r.cell.point.operation)); }},
    Column{"direction", [](const Row& r) { return word(name_of(r.cell.point.direction)); }},
    Column{"shared_query", [](const Row& r) -> Value { return r.cell.point.shared_query; }},
    Column{"batch_max", [](const Row& r) -> Value { return r.cell.point.batch_max; }},
    Column{"batch_memory_mb", [](const Row& r) -> Value { return r.cell.point.batch_memory_mb; }},
    Column{"batch_per_contender",
           [](const Row& r) { return of_model(r, r.cell.point.batch_per_contender); }},
    Column{"seed", [](const Row& r) -> Value { return r.cell.point.seed; }},
    Column{"status", status_of},
    Column{"reason", reason_of},
    Column{"median_ms", [](const Row& r) { return measured(r, r.cell.summary.median_ns / 1e6); }},
    Column{"low_ms", [](const Row& r) { return measured(r, r.cell.summary.low_ns / 1e6); }},
    Column{"high_ms", [](const Row& r) { return measured(r, r.cell.summary.high_ns / 1e6); }},
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
    Column{"settled", [](const Row& r) { return measured(r, r.cell.cell.settled); }},
    Column{
        "ms_per_document",
        [](const Row& r) { return measured(r, r.cell.summary.median_ns / 1e6 / documents_of(r)); }},
    Column{"ms_per_1000_tokens",
           [](const Row& r) {
             const auto thousands = static_cast<double>(r.cell.point.sequence_tokens) / 1000;
             return measured(r, r.cell.summary.median_ns / 1e6 / items_of(r) / thousands);
           }},
    Column{"peak_bytes", [](const Row& r) { return measured(r, peak_bytes(r.cell.cell.memory)); }},
    Column{"peak_bytes_per_document",
           [](const Row& r) {
             return measured(r,
                             static_cast<double>(peak_bytes(r.cell.cell.memory)) / documents_of(r));
           }},
    Column{"reserved_bytes",
           [](const Row& r) { return measured(r, r.cell.cell.memory.reserved_bytes); }},
    Column{"workspace_bytes",
           [](const Row& r) { return measured(r, r.cell.cell.memory.workspace_bytes); }},
    Column{"process_peak_bytes",
           [](const Row& r) {
             const auto& peak = r.cell.cell.memory.process_peak_bytes;
             return peak ? measured(r, *peak) : Value();
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
    Column{"limit_ms", [](const Row& r) { return real(r.limit_ms); }},
    Column{"share_of_limit", [](const Row& r) { return real(r.share_of_limit); }},
};

constexpr std::array ratio_columns{
    Column{"ratio", [](const Row& r) { return r.ratio ? real(r.ratio->ratio) : Value(); }},
    Column{"ratio_low", [](const Row& r) { return r.ratio ? real(r.ratio->low) : Value(); }},
    Column{"ratio_high", [](const Row& r) { return r.ratio ? real(r.ratio->high) : Value(); }},
    Column{"verdict",
           [](const Row& r) { return r.ratio ? word(name_of(r.ratio->verdict)) : Value(); }},
    Column{"paired", [](const Row& r) { return r.ratio ? Value(r.ratio->paired) : Value(); }},
};

constexpr std::array growth_columns{
    Column{"growth", [](const Row& r) { return r.growth ? real(r.growth->ratio) : Value(); }},
    Column{"growth_low", [](const Row& r) { return r.growth ? real(r.growth->low) : Value(); }},
    Column{"growth_high", [](const Row& r) { return r.growth ? real(r.growth->high) : Value(); }},
};

constexpr std::array<std::string_view, 28> keys_of_filter{
    "contender",       "name",         "implementation",  "pattern",
    "model",           "window",       "sequence_tokens", "query_tokens",
    "document_tokens", "batch",        "heads",           "head_dim",
    "dtype",           "memory_order", "cache",           "device",
    "threads",         "operation",    "direction",       "status",
    "shared_query",    "seed",         "batch_max",       "batch_memory_mb",
    "documents",       "layers",       "feed_forward",    "batch_per_contender"};

}  // namespace

std::vector<Column> columns(const Table& table) {
  std::vector<Column> all(plain_columns.begin(), plain_columns.end());
  if (table.baseline) all.insert(all.end(), ratio_columns.begin(), ratio_columns.end());
  if (table.has_growth) all.insert(all.end(), growth_columns.begin(), growth_columns.end());
  return all;
}

std::span<const std::string_view> filter_keys() {
  return keys_of_filter;
}

std::vector<std::string> filter_words(const Row& row, std::string_view key) {
  std::vector<std::string> words;
  const auto column = std::ranges::find(plain_columns, key, [](const Column& c) { return c.key; });
  if (column != plain_columns.end()) words.push_back(text_of(column->value(row)));
  if (key == "window" && !row.cell.cell.contender.window) words = {"none"};
  if (key == "query_tokens") words.push_back(fmt::format("{}", row.cell.point.query_tokens));
  if (key == "batch") words.push_back(fmt::format("{}", row.cell.point.batch_max));
  return words;
}

}  // namespace attnscope::report
