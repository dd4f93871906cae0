// SPDX-License-Identifier: Apache-2.0
#include "engine/report/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "engine/report/number_text.h"

namespace attnscope::report {
namespace {

constexpr std::array<int, 3> reported_latencies{50, 95, 99};
constexpr std::string_view longest_mark = "*";

/// With one more digit than the table, so that a value just beyond a limit is not shown as equal to
/// it.
std::string latency_in_words(double seconds) {
  const double value = 1e3 * seconds;
  return value < 1000 ? fmt::format("{:.4g} ms", value) : fmt::format("{:.0f} ms", value);
}

/// "60 queries", "54 calls of 6 queries".
std::string calls_in_words(const TopKLatency& calls, std::int64_t queries) {
  const auto count = static_cast<std::int64_t>(calls.seconds.size());
  const std::string of = fmt::format("{} {}", queries, queries == 1 ? "query" : "queries");
  return count == queries ? of : fmt::format("{} calls of {}", count, of);
}

/// Numbers for programs, three digits for readers.
SheetCell latency_cell(double value, bool bare) {
  return bare ? SheetCell(Value(value)) : SheetCell(three_digits(value));
}

std::vector<SheetCell> latency_row(const TopKLatency& calls, std::int64_t queries, bool bare) {
  std::vector<SheetCell> row{SheetCell(Value(calls.top_k))};
  if (bare) row.emplace_back(Value(static_cast<std::int64_t>(calls.seconds.size())));
  for (const int percent : reported_latencies) {
    row.push_back(latency_cell(1e3 * latency_at(calls, percent), bare));
    if (!bare && has_too_few(calls, percent)) row.back().marks = longest_mark;
  }
  const double all = std::accumulate(calls.seconds.begin(), calls.seconds.end(), 0.0);
  const auto count = static_cast<double>(calls.seconds.size());
  row.insert(row.end(), {latency_cell(1e3 * all / count, bare), latency_cell(count / all, bare)});
  const double offline = static_cast<double>(queries) / calls.offline_seconds;
  for (const double rate : {offline, offline * static_cast<double>(calls.top_k)})
    row.push_back(calls.offline_seconds > 0 ? latency_cell(rate, bare) : SheetCell());
  return row;
}

Sheet sheet_of(const ModelLatency& latency, bool bare) {
  Sheet sheet{.above = {fmt::format(
                  "{} on {}: {}, {:.0f} tokens per pair, {}, attention by {}, {}", latency.model,
                  latency.pairs,
                  latency.queries == 1 ? "1 query" : fmt::format("{} queries", latency.queries),
                  latency.tokens, latency.dtype, latency.implementation, latency.device)},
              .columns = {{.key = "top_k", .title = "Top-k"}}};
  if (bare) sheet.columns.push_back({.key = "calls", .title = "Calls"});
  for (const int percent : reported_latencies) {
    sheet.columns.push_back(
        {.key = fmt::format("p{}_ms", percent), .title = fmt::format("p{} (ms)", percent)});
  }
  sheet.columns.insert(sheet.columns.end(),
                       {{.key = "mean_ms", .title = "Mean (ms)"},
                        {.key = "queries_per_second", .title = "Queries/s"},
                        {.key = "offline_queries_per_second", .title = "Offline queries/s"},
                        {.key = "offline_pairs_per_second", .title = "Offline pairs/s"}});
  for (const TopKLatency& row : latency.rows) sheet.add(latency_row(row, latency.queries, bare));
  return sheet;
}

std::vector<std::string> sentences_of(const ModelLatency& latency) {
  std::vector<std::string> sentences{answer_in_words(latency)};
  const auto few = std::ranges::find_if(latency.rows, [](const TopKLatency& row) {
    return has_too_few(row, reported_latencies.back());
  });
  if (few != latency.rows.end()) {
    sentences.push_back(fmt::format("{} the longest of {} calls, since p{} needs at least {}",
                                    longest_mark, few->seconds.size(), reported_latencies.back(),
                                    least_calls(reported_latencies.back())));
  }
  sentences.insert(sentences.end(), latency.notes.begin(), latency.notes.end());
  return sentences;
}

nlohmann::ordered_json json_of(const ModelLatency& latency) {
  using nlohmann::ordered_json;
  const auto measured = [&](const std::optional<TopKLatency>& calls) -> ordered_json {
    if (!calls) return nullptr;
    return {{"top_k", calls->top_k},
            {"calls", calls->seconds.size()},
            {"ms", 1e3 * latency_at(*calls, latency.limit.percent)}};
  };
  return {{"model", latency.model},
          {"pairs", latency.pairs},
          {"queries", latency.queries},
          {"tokens", latency.tokens},
          {"dtype", latency.dtype},
          {"implementation", latency.implementation},
          {"device", latency.device},
          {"top_k",
           ordered_json::parse(write_sheet(sheet_of(latency, /*bare=*/true), TableFormat::json))},
          {"largest",
           {{"within_ms", 1e3 * latency.limit.seconds},
            {"quantile", fmt::format("p{}", latency.limit.percent)},
            {"most", latency.limit.most},
            {"within", measured(latency.largest.within)},
            {"beyond", measured(latency.largest.beyond)}}},
          {"notes", latency.notes}};
}

}  // namespace

std::string answer_in_words(const ModelLatency& latency) {
  const auto& [within, beyond] = latency.largest;
  const std::string limit = latency_in_words(latency.limit.seconds);
  const auto measured = [&](const TopKLatency& calls) {
    const std::string of = calls_in_words(calls, latency.queries);
    const std::string took = latency_in_words(latency_at(calls, latency.limit.percent));
    if (has_too_few(calls, latency.limit.percent))
      return fmt::format("the longest of {}: {}", of, took);
    return fmt::format("p{} of {}: {}", latency.limit.percent, of, took);
  };
  if (!within) {
    return fmt::format("Even one document per query takes longer than {} ({})", limit,
                       measured(*beyond));
  }
  if (!beyond) {
    return fmt::format("{} documents per query, {}, are re-ranked within {} ({})", within->top_k,
                       latency.most_in_words, limit, measured(*within));
  }
  return fmt::format("Up to {} per query {} re-ranked within {} ({}; {} took {})",
                     within->top_k == 1 ? "1 document" : fmt::format("{} documents", within->top_k),
                     within->top_k == 1 ? "is" : "are", limit, measured(*within), beyond->top_k,
                     latency_in_words(latency_at(*beyond, latency.limit.percent)));
}

std::string write_latency(const ModelLatency& latency, TableFormat format) {
  if (format == TableFormat::json) {
    return json_of(latency).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
           "\n";
  }
  Sheet sheet = sheet_of(latency, is_for_programs(format));
  if (!is_for_programs(format)) sheet.notes = sentences_of(latency);
  return write_sheet(sheet, format);
}

}  // namespace attnscope::report
