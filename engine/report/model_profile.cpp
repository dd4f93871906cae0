// SPDX-License-Identifier: Apache-2.0
#include "engine/report/model_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "engine/heat/model_row.h"
#include "engine/report/number_text.h"
#include "engine/statistics/interval.h"

namespace attnscope::report {

namespace {

constexpr std::string_view tokenizer_part = "tokenizer", other_part = "other";

double profiled_flop(const ProfiledPairs& of, std::string_view part) {
  const auto found = std::ranges::find(of.part_flop, part, &std::pair<std::string, double>::first);
  return found == of.part_flop.end() ? 0 : found->second;
}

/// A bar proportional to a share, for a terminal.
std::string bar_of(double share) {
  constexpr double longest = 40;
  std::string bar;
  for (int i = 0; i < std::lround(share * longest); ++i) bar += "█";
  return bar;
}

Value share_cell(double share) {
  return share > 0 ? Value(fmt::format("{:.1f} %", 100 * share)) : Value();
}

/// The subject of the table: the number of pairs, the model and the implementation.
std::string stated_for(const ProfiledPairs& of) {
  const auto count = static_cast<double>(std::max<std::int64_t>(of.count, 1));
  return fmt::format("{} on {}: {} pairs, {:.0f} tokens each, {}, attention by {}, {} {}", of.model,
                     of.pairs, of.count, static_cast<double>(of.tokens) / count, of.dtype,
                     of.implementation, of.threads, of.threads == 1 ? "thread" : "threads");
}

/// Sets the rate of useful operations and its share of a ceiling, if both are known.
void set_rate(ProfiledPart& part, double flop, double ceiling) {
  if (!(flop > 0) || !(part.seconds > 0)) return;
  part.flop_per_second = flop / part.seconds;
  if (ceiling > 0) part.of_ceiling = part.flop_per_second / ceiling;
}

/// The ceiling for the same dtype and device; 0 if the run has none.
double flop_ceiling(const Table& table, const HeatPoint& point) {
  double best = 0;
  for (const Ceilings& measurement : table.ceilings) {
    if (are_ceilings_of(measurement, point)) best = std::max(best, measurement.flop_per_second);
  }
  return best;
}

}  // namespace

std::string share_in_words(const ProfiledPart& part) {
  std::string words = fmt::format("{:.1f} % of the time", 100 * part.share);
  if (part.of_ceiling > 0) words += fmt::format(", {:.0f} % of the ceiling", 100 * part.of_ceiling);
  return words;
}

std::string mark_of(const ProfiledPart& part) {
  return part.of_ceiling > 0 ? fmt::format("{:.0f} %", 100 * part.of_ceiling) : std::string();
}

std::vector<ProfiledPart> parts_of(const Table& table, const Row& row) {
  std::vector<ProfiledPart> parts;
  double whole_ns = 0;
  for (const PartTime& part : row.cell.cell.parts) whole_ns += part.time_ns;
  if (!is_measured(row) || !(whole_ns > 0)) return parts;
  const double ceiling =
      has_narrow_products(row.cell.cell.contender.model) ? 0 : flop_ceiling(table, row.cell.point);
  for (const PartTime& part : row.cell.cell.parts) {
    const double share = part.time_ns / whole_ns;
    ProfiledPart& profiled = parts.emplace_back(ProfiledPart{
        .name = part.name, .seconds = share * row.cell.summary.median_ns / 1e9, .share = share});
    set_rate(profiled, part.useful_flop, ceiling);
  }
  return parts;
}

std::vector<ProfiledPart> ModelProfile::parts() const {
  std::vector<ProfiledPart> parts;
  const auto add = [&](std::string_view name,
                       const std::function<double(const ProfiledRound&)>& seconds) {
    std::vector<double> taken;
    taken.reserve(rounds_.size());
    for (const ProfiledRound& round : rounds_) taken.push_back(seconds(round));
    const auto [least, most] = std::ranges::minmax(taken);
    parts.push_back({.name = std::string(name),
                     .seconds = statistics::median_of(std::move(taken)),
                     .least = least,
                     .most = most});
  };
  add(tokenizer_part, [](const ProfiledRound& round) { return round.tokenizer_seconds; });
  for (std::size_t i = 0; i < rounds_.front().part_seconds.size(); ++i) {
    add(rounds_.front().part_seconds[i].first,
        [i](const ProfiledRound& round) { return round.part_seconds.at(i).second; });
  }
  add(other_part, [](const ProfiledRound& round) {
    double rest = round.whole_seconds - round.tokenizer_seconds;
    for (const auto& [name, seconds] : round.part_seconds) rest -= seconds;
    return std::max(rest, 0.0);
  });
  add(whole_part, [](const ProfiledRound& round) { return round.whole_seconds; });
  const double whole = parts.back().seconds;
  double all_flop = 0;
  for (const auto& [name, flop] : of_.part_flop) all_flop += flop;
  for (ProfiledPart& part : parts) {
    part.share = whole > 0 ? part.seconds / whole : 0;
    const double flop = part.name == whole_part ? all_flop : profiled_flop(of_, part.name);
    set_rate(part, flop, of_.flop_per_second);
  }
  return parts;
}

Figure profile_figure(const ModelProfile& profile) {
  const ProfiledPairs& of = profile.of();
  const auto count = static_cast<double>(std::max<std::int64_t>(of.count, 1));
  Figure figure{.title = stated_for(of),
                .x_label = "Model",
                .y_label = fmt::format("Time per pair (ms){}", marks_in_words),
                .x_scale = Scale::linear,
                .y_scale = Scale::linear,
                .provenance = stated_for(of),
                .x_names = {of.model}};
  for (const ProfiledPart& part : profile.parts()) {
    if (part.name == whole_part) continue;
    const auto ms = [&](double seconds) { return 1e3 * seconds / count; };
    figure.series.push_back({.name = part.name,
                             .style_key = part.name,
                             .points = {{.x = 0,
                                         .y = ms(part.seconds),
                                         .low = ms(part.least),
                                         .high = ms(part.most),
                                         .label = share_in_words(part),
                                         .mark = mark_of(part)}}});
  }
  return figure;
}

std::string write_profile(const ModelProfile& profile, TableFormat format) {
  const ProfiledPairs& of = profile.of();
  const auto count = static_cast<double>(std::max<std::int64_t>(of.count, 1));
  const std::vector<ProfiledPart> parts = profile.parts();
  const bool bare = is_for_programs(format);
  Sheet sheet{.above = {stated_for(of)},
              .columns = {{.key = "part", .title = "Part", .is_number = false},
                          {.key = "seconds", .title = "Time per pair (µs)"},
                          {.key = "share", .title = "Share"},
                          {.key = "flop_per_second", .title = "GFLOP/s"},
                          {.key = "of_ceiling", .title = "Of the ceiling"}}};
  if (format == TableFormat::text) {
    sheet.columns.push_back(
        {.key = "bar", .title = "", .is_number = false, .is_dispensable = true});
  }
  for (const ProfiledPart& part : parts) {
    const bool counted = part.flop_per_second > 0;
    std::vector<SheetCell> row{SheetCell(part.name)};
    if (bare) {
      row.insert(row.end(), {SheetCell(Value(part.seconds)), SheetCell(Value(part.share)),
                             SheetCell(counted ? Value(part.flop_per_second) : Value()),
                             SheetCell(part.of_ceiling > 0 ? Value(part.of_ceiling) : Value())});
    } else {
      row.insert(
          row.end(),
          {SheetCell(fmt::format("{:.1f}", 1e6 * part.seconds / count)),
           SheetCell(share_cell(part.share)),
           SheetCell(counted ? Value(fmt::format("{:.1f}", part.flop_per_second / 1e9)) : Value()),
           SheetCell(share_cell(part.of_ceiling))});
    }
    if (format == TableFormat::text)
      row.emplace_back(part.name == whole_part ? "" : bar_of(part.share));
    sheet.add(std::move(row));
  }
  const ProfiledPart& whole = parts.back();
  const bool is_one = profile.rounds() == 1;
  sheet.below.push_back(
      fmt::format("{}; {:.0f} pairs and {:.0f} tokens a second{}",
                  is_one ? "One pass" : fmt::format("Medians of {} passes", profile.rounds()),
                  count / whole.seconds, static_cast<double>(of.tokens) / whole.seconds,
                  is_one ? ""
                         : fmt::format(", whole passes {:.1f} to {:.1f} ms", 1e3 * whole.least,
                                       1e3 * whole.most)));
  constexpr double alike = 1.1;  // spread of passes over the same pairs on an idle machine
  if (whole.most > alike * whole.least) {
    sheet.below.push_back(fmt::format(
        "The longest pass took {:.0f} % more than the shortest: other programs kept cores busy, or "
        "the clock changed; close them and measure again",
        100 * (whole.most / whole.least - 1)));
  }
  if (of.flop_per_second > 0) {
    sheet.below.push_back(
        fmt::format("The ceiling is {:.0f} GFLOP/s of multiply-adds in float32, measured with it",
                    of.flop_per_second / 1e9));
  } else if (of.dtype != "float32") {
    sheet.below.push_back(fmt::format(
        "No ceiling is given: the measured ceiling is for float32, not for {}", of.dtype));
  }
  return write_sheet(sheet, format);
}

namespace {

constexpr std::array<int, 3> reported_latencies{50, 95, 99};
constexpr std::string_view longest_mark = "*";

/// Writes one more digit than the table, so that a value just beyond a limit is not shown as equal
/// to it.
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
    sentences.push_back(fmt::format("{} the longest of {} calls, because p{} needs at least {}",
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
