// SPDX-License-Identifier: Apache-2.0
#include "engine/report/pair_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attnscope::report {
namespace {

using nlohmann::json;

constexpr std::array<double, 5> reported_percentiles{50, 75, 90, 95, 99};

double padded_share(std::span<const std::int64_t> lengths) {
  double positions = 0, tokens = 0;
  while (!lengths.empty()) {
    const auto batch =
        lengths.first(std::min(lengths.size(), static_cast<std::size_t>(padded_batch)));
    positions += static_cast<double>(std::ranges::max(batch)) * static_cast<double>(batch.size());
    for (const std::int64_t length : batch) tokens += static_cast<double>(length);
    lengths = lengths.subspan(batch.size());
  }
  return positions > 0 ? 1 - tokens / positions : 0;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// 1, 2 or 5 times a power of ten, so that some twenty bins reach the longest.
std::int64_t bin_width(std::int64_t longest) {
  constexpr std::int64_t bins = 20;
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t step : {power, 2 * power, 5 * power})
      if (step * bins >= longest) return step;
  }
}

Figure histogram_of(const std::string& title, const DocumentLengths& lengths) {
  // Outliers are counted in the last bin.
  const std::int64_t longest = std::max<std::int64_t>(lengths.percentile(99), 1);
  const std::int64_t width = bin_width(longest);
  const auto bins = static_cast<std::size_t>(longest / width + 1);
  std::vector<std::int64_t> counts(bins + 1, 0);
  for (const auto& [tokens, count] : lengths.counted())
    counts[std::min(static_cast<std::size_t>(tokens / width), bins)] += count;
  if (counts.back() == 0) counts.pop_back();
  Figure figure{.title = title,
                .x_label = "Tokens",
                .y_label = "Texts",
                .x_scale = Scale::linear,
                .y_scale = Scale::linear,
                .series = {{.name = title, .style_key = title}},
                .provenance = {}};
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const auto begin = static_cast<std::int64_t>(bin) * width;
    figure.x_names.push_back(bin == bins ? fmt::format("≥ {}", begin) : fmt::format("{}", begin));
    const auto count = static_cast<double>(counts[bin]);
    figure.series.front().points.push_back(
        {.x = static_cast<double>(bin), .y = count, .low = count, .high = count});
  }
  return figure;
}

std::string head_of(const PairLengths& lengths) {
  return fmt::format("{} pairs of {} in tokens of {}", lengths.pairs().size(), lengths.file(),
                     lengths.checkpoint());
}

Sheet sheet_of(const PairLengths& lengths, bool for_programs) {
  Sheet sheet{.above = {head_of(lengths)},
              .columns = {{"what", "", false}, {"mean", "Mean"}, {"shortest", "Shortest"}}};
  for (const double p : reported_percentiles)
    sheet.columns.push_back({fmt::format("p{:.0f}", p), fmt::format("p{:.0f}", p)});
  sheet.columns.push_back({"longest", "Longest"});
  for (std::size_t part = 0; part < PairLengths::names.size(); ++part) {
    const DocumentLengths one(lengths.parts()[part]);
    std::vector<SheetCell> cells{
        SheetCell(std::string(PairLengths::names[part])),
        for_programs ? SheetCell(Value(one.mean())) : SheetCell(fmt::format("{:.1f}", one.mean())),
        Value(one.shortest())};
    for (const double p : reported_percentiles) cells.emplace_back(Value(one.percentile(p)));
    cells.emplace_back(Value(one.longest()));
    sheet.add(std::move(cells));
  }
  return sheet;
}

std::vector<std::string> sentences_of(const PairLengths& lengths) {
  std::vector<std::string> sentences{
      "Queries and documents without [SEP]; pairs with [CLS] and every [SEP]."};
  for (const CutAt& cut : cuts_of(lengths)) {
    sentences.push_back(
        fmt::format("A limit of {} tokens{} cuts {} of the pairs, {} of all tokens.", cut.limit,
                    cut.limit == lengths.own_limit() ? " (the checkpoint's own)" : "",
                    percent(cut.share), percent(cut.share_of_tokens)));
  }
  const Padding padding = padding_of(lengths);
  sentences.push_back(fmt::format(
      "Padding in batches of {} pairs: {} in the file's order, {} sorted by length, none packed.",
      padded_batch, percent(padding.in_file_order), percent(padding.sorted)));
  return sentences;
}

json json_of(const PairLengths& lengths) {
  json whole = {{"checkpoint", lengths.checkpoint()},
                {"file", lengths.file()},
                {"count", lengths.pairs().size()},
                {"own_limit", lengths.own_limit()}};
  for (std::size_t part = 0; part < PairLengths::names.size(); ++part) {
    const DocumentLengths one(lengths.parts()[part]);
    json counted = json::array();
    for (const auto& [tokens, count] : one.counted()) counted.push_back({tokens, count});
    json own = {{"mean", one.mean()},
                {"shortest", one.shortest()},
                {"longest", one.longest()},
                {"counted", std::move(counted)}};
    for (const double p : reported_percentiles) own[fmt::format("p{:.0f}", p)] = one.percentile(p);
    whole[std::string(PairLengths::names[part])] = std::move(own);
  }
  json cuts = json::array();
  for (const CutAt& cut : cuts_of(lengths)) {
    cuts.push_back({{"limit", cut.limit},
                    {"pairs", cut.pairs},
                    {"share", cut.share},
                    {"share_of_tokens", cut.share_of_tokens}});
  }
  const Padding padding = padding_of(lengths);
  whole["cut"] = std::move(cuts);
  whole["padding"] = {{"batch", padded_batch},
                      {"in_file_order", padding.in_file_order},
                      {"sorted", padding.sorted},
                      {"packed", Padding::packed}};
  return whole;
}

}  // namespace

std::vector<CutAt> cuts_of(const PairLengths& lengths) {
  std::set<std::int64_t> limits{128, 256, 512, 1024, 2048, 4096};
  if (lengths.own_limit() > 0) limits.insert(lengths.own_limit());
  std::vector<CutAt> cuts;
  cuts.reserve(limits.size());
  for (const std::int64_t limit : limits) {
    CutAt cut{.limit = limit};
    double all = 0, beyond = 0;
    for (const std::int64_t tokens : lengths.pairs()) {
      cut.pairs += tokens > limit ? 1 : 0;
      all += static_cast<double>(tokens);
      beyond += static_cast<double>(std::max<std::int64_t>(tokens - limit, 0));
    }
    cut.share = static_cast<double>(cut.pairs) / static_cast<double>(lengths.pairs().size());
    cut.share_of_tokens = all > 0 ? beyond / all : 0;
    cuts.push_back(cut);
  }
  return cuts;
}

Padding padding_of(const PairLengths& lengths) {
  std::vector<std::int64_t> read = lengths.pairs();
  if (lengths.own_limit() > 0) {
    for (std::int64_t& tokens : read) tokens = std::min(tokens, lengths.own_limit());
  }
  Padding padding{.in_file_order = padded_share(read)};
  std::ranges::sort(read);
  padding.sorted = padded_share(read);
  return padding;
}

std::string write_lengths(const PairLengths& lengths, TableFormat format) {
  if (format == TableFormat::json) {
    return json_of(lengths).dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  Sheet sheet = sheet_of(lengths, is_for_programs(format));
  if (!is_for_programs(format)) sheet.notes = sentences_of(lengths);
  return write_sheet(sheet, format);
}

Facets histograms_of(const PairLengths& lengths) {
  Facets facets{.title = head_of(lengths), .panels = {}, .provenance = head_of(lengths)};
  for (std::size_t part = 0; part < PairLengths::names.size(); ++part) {
    std::string title(PairLengths::names[part]);
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    facets.panels.push_back(histogram_of(title, DocumentLengths(lengths.parts()[part])));
  }
  return facets;
}

}  // namespace attnscope::report
