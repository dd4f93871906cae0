// SPDX-License-Identifier: Apache-2.0
#include "engine/report/text_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope::report {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Parses the JSON of `attnscope lengths`. An empty text counts as one token.
Result<DocumentLengths> parse_counted(std::string_view text, bool of_sequences) {
  constexpr std::int64_t most_texts = 1'000'000'000'000;
  return read_json(text, "lengths", [&](const JsonField& root) {
    const JsonField list = root[of_sequences ? "pairs" : "documents"]["counted"];
    std::map<std::int64_t, std::int64_t> counts;
    for (const JsonField& pair : list.elements()) {
      const std::vector<JsonField> both = pair.elements();
      if (both.size() != 2) pair.wrong("must be a length and its number of documents");
      const auto tokens = std::max<std::int64_t>(both[0].whole(0, longest_document), 1);
      counts[tokens] += both[1].whole(1, most_texts);
    }
    if (counts.empty()) list.wrong("is empty; it must have at least one length");
    return DocumentLengths(std::vector<DocumentLengths::Counted>(counts.begin(), counts.end()));
  });
}

}  // namespace

DocumentLengths::DocumentLengths(std::vector<std::int64_t> lengths)
    : count_(static_cast<std::int64_t>(lengths.size())) {
  std::ranges::sort(lengths);
  for (const std::int64_t tokens : lengths) {
    if (counted_.empty() || counted_.back().first != tokens) counted_.emplace_back(tokens, 0);
    ++counted_.back().second;
  }
}

DocumentLengths::DocumentLengths(std::vector<Counted> counted) : counted_(std::move(counted)) {
  for (const auto& [tokens, count] : counted_) count_ += count;
}

double DocumentLengths::mean() const {
  double sum = 0;
  for (const auto& [tokens, count] : counted_) {
    sum += static_cast<double>(tokens) * static_cast<double>(count);
  }
  return sum / static_cast<double>(count_);
}

std::int64_t DocumentLengths::percentile(double percent) const {
  const auto rank = static_cast<std::int64_t>(
      std::ceil(std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (const auto& [tokens, count] : counted_) {
    seen += count;
    if (seen >= rank) return tokens;
  }
  return longest();
}

Result<DocumentLengths> parse_document_lengths(std::string_view text, bool of_sequences) {
  if (trimmed(text.substr(0, text.find('\n'))).starts_with('{'))
    return parse_counted(text, of_sequences);
  std::vector<std::int64_t> lengths;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::int64_t tokens = 0;
    const auto [stopped, error] = std::from_chars(line.data(), line.data() + line.size(), tokens);
    const bool is_whole = error == std::errc() && stopped == line.data() + line.size();
    if (!is_whole || tokens < 1 || tokens > longest_document) {
      return fail("line {} is '{}', not a length; write one whole number from 1 to {} per line",
                  line_number, in_a_sentence(line), longest_document);
    }
    lengths.push_back(tokens);
  }
  if (lengths.empty()) return fail("it contains no length; write one whole number per line");
  return DocumentLengths(std::move(lengths));
}

Result<DocumentLengths> read_document_lengths(const std::filesystem::path& file,
                                              bool of_sequences) {
  constexpr std::uintmax_t most_bytes = 64 << 20;  // about ten million documents
  const Result<std::string> text = read_text_file(file, "file of lengths", most_bytes);
  if (!text) return tl::unexpected(text.error());
  Result<DocumentLengths> lengths = parse_document_lengths(*text, of_sequences);
  if (!lengths) {
    constexpr std::size_t longest_path = 400;
    return fail("'{}': {}", in_a_sentence(file.string(), longest_path), lengths.error().message);
  }
  return lengths;
}

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

/// The smallest of 1, 2, 5, 10, 20, 50, ... times `unit` that `is_enough` accepts.
std::int64_t round_width(std::int64_t unit, const std::function<bool(std::int64_t)>& is_enough) {
  for (;; unit *= 10) {
    for (const std::int64_t width : {unit, 2 * unit, 5 * unit})
      if (is_enough(width)) return width;
  }
}

Figure histogram_of(const std::string& title, const DocumentLengths& lengths) {
  // Outliers are counted in the last bin.
  const std::int64_t longest = std::max<std::int64_t>(lengths.percentile(99), 1);
  constexpr std::int64_t most_bins = 20;
  const auto width =
      round_width(1, [&](std::int64_t tokens) { return tokens * most_bins >= longest; });
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
    const DocumentLengths part_lengths(lengths.parts()[part]);
    std::vector<SheetCell> cells{SheetCell(std::string(PairLengths::names[part])),
                                 for_programs
                                     ? SheetCell(Value(part_lengths.mean()))
                                     : SheetCell(fmt::format("{:.1f}", part_lengths.mean())),
                                 Value(part_lengths.shortest())};
    for (const double p : reported_percentiles)
      cells.emplace_back(Value(part_lengths.percentile(p)));
    cells.emplace_back(Value(part_lengths.longest()));
    sheet.add(std::move(cells));
  }
  return sheet;
}

std::vector<std::string> sentences_of(const PairLengths& lengths) {
  std::vector<std::string> sentences{
      "Queries and documents are counted without [SEP], pairs with [CLS] and every [SEP]."};
  for (const CutAt& cut : cuts_of(lengths)) {
    sentences.push_back(
        fmt::format("A limit of {} tokens{} truncates {} of the pairs, {} of all tokens.",
                    cut.limit, cut.limit == lengths.own_limit() ? " (the checkpoint's own)" : "",
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
    const DocumentLengths part_lengths(lengths.parts()[part]);
    json counted = json::array();
    for (const auto& [tokens, count] : part_lengths.counted()) counted.push_back({tokens, count});
    json own = {{"mean", part_lengths.mean()},
                {"shortest", part_lengths.shortest()},
                {"longest", part_lengths.longest()},
                {"counted", std::move(counted)}};
    for (const double p : reported_percentiles)
      own[fmt::format("p{:.0f}", p)] = part_lengths.percentile(p);
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

namespace {

constexpr std::array<std::string_view, RegionPositions::places> place_names{"best", "second",
                                                                            "third"};

}  // namespace

void RegionPositions::add(std::span<const std::int64_t> first_words) {
  ++documents_;
  for (std::size_t place = 0; place < std::min(first_words.size(), places); ++place)
    begins_[place].push_back(first_words[place]);
}

double RegionPositions::share_after(std::size_t place, std::int64_t word) const {
  const std::vector<std::int64_t>& begins = begins_[place];
  if (begins.empty()) return 0;
  const auto after = std::ranges::count_if(begins, [&](std::int64_t b) { return b >= word; });
  return static_cast<double>(after) / static_cast<double>(begins.size());
}

std::string RegionPositions::in_words() const {
  constexpr std::int64_t paper_word = 500;
  constexpr double percent = 100;
  return fmt::format(
      "{:.1f} % of the best regions of {} documents, {:.1f} % of the second and {:.1f} % of the "
      "third begin after word {}",
      percent * share_after(0, paper_word), documents_, percent * share_after(1, paper_word),
      percent * share_after(2, paper_word), paper_word);
}

Result<Figure> RegionPositions::figure(const std::string& model) const {
  std::int64_t last = -1;
  for (const std::vector<std::int64_t>& begins : begins_) {
    for (const std::int64_t begin : begins) last = std::max(last, begin);
  }
  if (last < 0) return fail("no document has words, so there are no regions");
  constexpr std::int64_t most_bins = 40;
  const auto width = round_width(10, [&](std::int64_t words) { return last / words < most_bins; });
  Figure figure{
      .title = fmt::format("Where the best regions of {} begin in {} documents", model, documents_),
      .x_label = fmt::format("First word of the region, in bins of {} words", width),
      .y_label = "Documents (%)",
      .x_scale = Scale::linear,
      .y_scale = Scale::linear,
      .provenance = fmt::format("Regions that determine the scores of {} in {} documents, by the "
                                "word at which they begin, in bins of {} words; {}.",
                                model, documents_, width, in_words())};
  for (std::size_t place = 0; place < places; ++place) {
    const std::vector<std::int64_t>& begins = begins_[place];
    if (begins.empty()) continue;
    std::vector<std::int64_t> bins(static_cast<std::size_t>(last / width + 1));
    for (const std::int64_t begin : begins) ++bins[static_cast<std::size_t>(begin / width)];
    Series series{.name = fmt::format("{} region", place_names[place]),
                  .style_key = fmt::format("region {}", place + 1)};
    series.points.reserve(bins.size());
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      constexpr double percent = 100;
      const std::int64_t first = static_cast<std::int64_t>(bin) * width;
      const double share =
          percent * static_cast<double>(bins[bin]) / static_cast<double>(begins.size());
      series.points.push_back({.x = static_cast<double>(first) + static_cast<double>(width) / 2,
                               .y = share,
                               .low = share,
                               .high = share,
                               .label = fmt::format("words {} to {}", first + 1, first + width)});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace attnscope::report
