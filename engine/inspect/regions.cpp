// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/sentences.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::int64_t counted_regions_in_file = 15, peaks = 3;
constexpr std::size_t most_words = 10'000'000, longest_word = 100'000;

Result<std::vector<std::string>> words_in_metadata(const SafetensorsFile& file, const char* key,
                                                   const std::string& name) {
  const auto text = file.metadata(key);
  if (!text) return tl::unexpected(text.error());
  const json list = parse_json(*text);
  if (!list.is_array() || list.size() > most_words)
    return fail("{}: metadata '{}' is no list of words", name, key);
  std::vector<std::string> words;
  words.reserve(list.size());
  for (const json& word : list) {
    if (!word.is_string() || word.get_ref<const std::string&>().size() > longest_word)
      return fail("{}: metadata '{}': entry {} is no word", name, key, words.size());
    words.push_back(word.get<std::string>());
  }
  return words;
}

Result<std::int64_t> count_in_metadata(const SafetensorsFile& file, const char* key,
                                       std::int64_t most, const std::string& name) {
  const auto text = file.metadata(key);
  if (!text) return tl::unexpected(text.error());
  std::int64_t value = -1;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end && value >= 0 && value <= most) return value;
  return fail("{}: metadata '{}' is no number from 0 to {}", name, key, most);
}

Result<std::vector<float>> finite_floats(const SafetensorsFile& file, const char* tensor,
                                         const std::vector<std::int64_t>& shape,
                                         const std::string& name) {
  const auto values = file.floats(tensor, shape);
  if (!values) return tl::unexpected(values.error());
  if (!std::ranges::all_of(*values, [](float v) { return std::isfinite(v); }))
    return fail("{}: '{}' has values that are no numbers", name, tensor);
  return std::vector<float>(values->begin(), values->end());
}

/// Whether each query word is missing from the vocabulary; without this metadata, all are known.
Result<std::vector<bool>> unknown_in_metadata(const SafetensorsFile& file, std::size_t words,
                                              const std::string& name) {
  std::vector<bool> unknown(words);
  const auto text = file.metadata("unknown");
  if (!text) return unknown;
  const json list = parse_json(*text);
  if (!list.is_array()) return fail("{}: metadata 'unknown' is no list of numbers", name);
  for (const json& number : list) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= words)
      return fail("{}: metadata 'unknown' names a word that the query of {} has not", name, words);
    unknown[number.get<std::size_t>()] = true;
  }
  return unknown;
}

/// Adds the weighted contributions to the document's score: first the peaks, then, for all three
/// peaks, the regions before, after, two before and two after.
void add_weights(const std::vector<float>& numbers, const std::vector<float>& weights,
                 DocumentRegions& regions) {
  for (std::size_t place = 0; place < weights.size() && !regions.scores.empty(); ++place) {
    const auto same = [&](const RegionPeak& peak) {
      return peak.region == static_cast<std::int64_t>(numbers[place % peaks]);
    };
    const auto weight = static_cast<double>(weights[place]);
    const double adds = weight * regions.scores[static_cast<std::size_t>(numbers[place])];
    const auto peak = std::ranges::find_if(regions.peaks, same);
    if (peak == regions.peaks.end()) {
      regions.without_peak += adds;
    } else if (place < static_cast<std::size_t>(peaks)) {
      peak->weight += weight;
    } else {
      peak->alongside += adds;
    }
  }
}

/// Adds the peaks with the shares of their scores.
Status add_peaks(const std::vector<float>& numbers, const std::vector<float>& shares,
                 const std::vector<float>& unmatched, const std::string& name,
                 DocumentRegions& regions) {
  const auto count = static_cast<std::int64_t>(regions.scores.size());
  const auto query = static_cast<std::int64_t>(regions.query.size());
  for (const float number : numbers) {
    if (count == 0) break;
    if (number < 0 || number >= static_cast<float>(count) || std::floor(number) != number) {
      return fail("{}: 'layer.0.counted' names the region {}, and there are {}", name, number,
                  count);
    }
  }
  for (std::size_t p = 0; p < static_cast<std::size_t>(peaks) && count > 0; ++p) {
    const float number = numbers[p];
    RegionPeak peak{.region = static_cast<std::int64_t>(number), .words = {}};
    const auto same = [&](const RegionPeak& other) { return other.region == peak.region; };
    peak.words = regions.words_of(peak.region);
    peak.score = regions.scores[static_cast<std::size_t>(peak.region)];
    peak.unmatched = unmatched[p];
    if (std::ranges::any_of(regions.peaks, same) || peak.words.size() == 0) continue;
    peak.with_neighbours = peak.words;
    if (regions.makes_score) {
      peak.with_neighbours = {
          regions.words_of(std::max<std::int64_t>(peak.region - 2, 0)).begin,
          std::max(regions.words_of(std::min(peak.region + 2, count - 1)).end, peak.words.end)};
    }
    const float* own = shares.data() + static_cast<std::int64_t>(p) * query * cpu::pooling_kernels;
    for (std::int64_t i = 0; i < query; ++i) {
      for (std::int64_t k = 0; k < cpu::pooling_kernels; ++k)
        peak.shares.push_back({i, k, static_cast<double>(own[i * cpu::pooling_kernels + k])});
    }
    std::ranges::stable_sort(peak.shares, std::ranges::greater{},
                             [](const RegionShare& one) { return std::abs(one.share); });
    regions.peaks.push_back(std::move(peak));
  }
  return {};
}

}  // namespace

TokenRange DocumentRegions::words_of(std::int64_t region) const {
  const std::int64_t begin = std::min(region * cpu::region_step, kept);
  return {begin, std::min(begin + cpu::region_tokens, kept)};
}

bool holds_regions(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  return file && file->metadata("attnscope_regions");
}

Result<DocumentRegions> read_regions(const std::filesystem::path& path) {
  const std::string name = in_a_sentence(path.string(), 400);
  const auto file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  if (!file->metadata("attnscope_regions"))
    return fail("{}: contains no regions of a document; 'attnscope inspect' writes them", name);
  DocumentRegions regions;
  if (const auto model = file->metadata("model")) regions.model = *model;
  if (const auto note = file->metadata("note")) regions.note = *note;
  auto query = words_in_metadata(*file, "query", name);
  if (!query) return tl::unexpected(query.error());
  auto document = words_in_metadata(*file, "document", name);
  if (!document) return tl::unexpected(document.error());
  regions.query = std::move(*query);
  regions.document = std::move(*document);
  const auto read =
      count_in_metadata(*file, "read", static_cast<std::int64_t>(regions.document.size()), name);
  if (!read) return tl::unexpected(read.error());
  const auto kept = count_in_metadata(*file, "kept", *read, name);
  if (!kept) return tl::unexpected(kept.error());
  regions.read = *read;
  regions.kept = *kept;
  const auto words = static_cast<std::int64_t>(regions.query.size());
  auto scores = finite_floats(*file, "layer.0.regions", {cpu::regions_of(regions.kept)}, name);
  if (!scores) return tl::unexpected(scores.error());
  const auto numbers = finite_floats(*file, "layer.0.counted", {counted_regions_in_file}, name);
  if (!numbers) return tl::unexpected(numbers.error());
  const auto shares = finite_floats(*file, "layer.0.shares",
                                    {counted_regions_in_file, words, cpu::pooling_kernels}, name);
  if (!shares) return tl::unexpected(shares.error());
  const auto unmatched = finite_floats(*file, "layer.0.unmatched", {counted_regions_in_file}, name);
  if (!unmatched) return tl::unexpected(unmatched.error());
  const auto score = finite_floats(*file, "layer.0.score", {1}, name);
  if (!score) return tl::unexpected(score.error());
  auto unknown = unknown_in_metadata(*file, regions.query.size(), name);
  if (!unknown) return tl::unexpected(unknown.error());
  regions.makes_score = file->tensor("layer.0.weights").has_value();
  Result<std::vector<float>> weights = std::vector<float>();
  if (regions.makes_score) {
    weights = finite_floats(*file, "layer.0.weights", {counted_regions_in_file}, name);
    if (!weights) return tl::unexpected(weights.error());
  }
  regions.unknown = std::move(*unknown);
  regions.score = static_cast<double>(score->front());
  regions.scores = std::move(*scores);
  if (Status added = add_peaks(*numbers, *shares, *unmatched, name, regions); !added)
    return tl::unexpected(added.error());
  add_weights(*numbers, *weights, regions);
  return regions;
}

RegionStrip strip_of(const DocumentRegions& regions) {
  RegionStrip strip;
  std::vector<float> ordered;
  strip.cells.reserve(regions.scores.size());
  ordered.reserve(regions.scores.size());
  for (std::size_t r = 0; r < regions.scores.size(); ++r) {
    const auto region = static_cast<std::int64_t>(r);
    const TokenRange words = regions.words_of(region);
    if (words.size() == 0) break;
    const double middle = static_cast<double>(words.begin + words.end) / 2;
    StripCell cell{.region = region};
    if (!strip.cells.empty()) {
      const TokenRange before = regions.words_of(region - 1);
      cell.begin = (static_cast<double>(before.begin + before.end) / 2 + middle) / 2;
      strip.cells.back().end = cell.begin;
    }
    strip.cells.push_back(cell);
    if (words.size() == cpu::region_tokens || r == 0) ordered.push_back(regions.scores[r]);
  }
  if (strip.cells.empty()) return strip;
  strip.cells.back().end = static_cast<double>(regions.kept);
  std::ranges::sort(ordered);
  constexpr std::size_t part = 10;
  strip.least = static_cast<double>(ordered[ordered.size() / part]);
  strip.most = static_cast<double>(ordered.back());
  for (StripCell& cell : strip.cells) {
    const auto score = static_cast<double>(regions.scores[static_cast<std::size_t>(cell.region)]);
    cell.heat = strip.most > strip.least
                    ? std::clamp((score - strip.least) / (strip.most - strip.least), 0.0, 1.0)
                    : 1;
  }
  return strip;
}

std::string number_in_words(const DocumentRegions& regions, double value, bool with_sign) {
  double largest = std::abs(regions.score), largest_share = 0;
  for (const RegionPeak& peak : regions.peaks) {
    largest = std::max({largest, std::abs(peak.score), std::abs(peak.unmatched)});
    if (!peak.shares.empty())
      largest_share = std::max(largest_share, std::abs(peak.shares.front().share));
  }
  const auto decimals_for = [](double number, int digits) {
    return number > 0 ? digits - 1 - static_cast<int>(std::floor(std::log10(number))) : 0;
  };
  const int decimals =
      std::clamp(std::max(decimals_for(largest, 4), decimals_for(largest_share, 2)), 2, 9);
  const double rounded = std::round(value * std::pow(10, decimals)) == 0 ? 0 : value;
  return with_sign ? fmt::format("{:+.{}f}", rounded, decimals)
                   : fmt::format("{:.{}f}", rounded, decimals);
}

std::string query_word(const DocumentRegions& regions, std::int64_t word) {
  const auto own = regions.query.begin() + word;
  const auto nth = std::count(regions.query.begin(), own, *own) + 1;
  std::string words = *own;
  if (nth > 1) words += fmt::format(" ({}{})", nth, nth == 2 ? "nd" : nth == 3 ? "rd" : "th");
  if (regions.unknown[static_cast<std::size_t>(word)]) words += " (unknown)";
  return words;
}

std::string about_in_words(const DocumentRegions& regions) {
  std::string words =
      regions.makes_score
          ? fmt::format(
                "The score of {} is a sum over the best regions of {} words and over those "
                "next to them, which are paler.",
                regions.model, cpu::region_tokens)
          : fmt::format("The best regions of {} words, of {}.", cpu::region_tokens, regions.model);
  if (!regions.note.empty()) words += ' ' + regions.note;
  return words;
}

std::string notes_in_words(const DocumentRegions& regions) {
  const auto all = static_cast<std::int64_t>(regions.document.size());
  std::string words;
  const auto add = [&words](const std::string& sentence) {
    words += (words.empty() ? "" : " ") + sentence;
  };
  if (regions.read < all)
    add(fmt::format("The model read the first {} of {} words.", regions.read, all));
  if (regions.kept < regions.read) {
    add(fmt::format(
        "{} after word {} in the middle of no chunk and therefore in no region, as in the paper.",
        regions.read - regions.kept == 1 ? "One word is"
                                         : fmt::format("{} words are", regions.read - regions.kept),
        regions.kept));
  }
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < regions.query.size(); ++i) {
    if (regions.unknown[i] && std::ranges::find(unknown, regions.query[i]) == unknown.end())
      unknown.push_back(regions.query[i]);
  }
  if (!unknown.empty()) {
    add(
        fmt::format("Not in the model's list of words: {}; every unknown word of the document "
                    "counts as equal to {}.",
                    fmt::join(unknown, ", "), unknown.size() == 1 ? "it" : "them"));
  }
  return words;
}

std::string shares_in_words(const DocumentRegions& regions, const RegionPeak& peak,
                            std::size_t most) {
  const std::string nothing = number_in_words(regions, 0, true);
  std::string words;
  double left = peak.score - peak.unmatched;
  for (std::size_t i = 0; i < std::min(most, peak.shares.size()); ++i) {
    const RegionShare& one = peak.shares[i];
    const std::string share = number_in_words(regions, one.share, true);
    if (share == nothing) break;
    words += fmt::format(
        "{}{} near cosine {:.2g} ({})", words.empty() ? "" : ", ",
        query_word(regions, one.query_word),
        static_cast<double>(cpu::pooling_centres.at(static_cast<std::size_t>(one.kernel))), share);
    left -= one.share;
  }
  const std::string others = number_in_words(regions, left, true);
  if (words.empty()) {
    return others == nothing ? "no query word matches"
                             : fmt::format("many small ones ({})", others);
  }
  return others == nothing ? words : fmt::format("{}, others ({})", words, others);
}

std::string peak_in_words(const DocumentRegions& regions, const RegionPeak& peak) {
  constexpr std::size_t named = 6;
  const auto number = [&](double value, bool with_sign = false) {
    return number_in_words(regions, value, with_sign);
  };
  std::string words =
      fmt::format("words {} to {}, score {} = {} if nothing matched {} by {}", peak.words.begin + 1,
                  peak.words.end, number(peak.score), number(peak.unmatched),
                  number(peak.score - peak.unmatched, true), shares_in_words(regions, peak, named));
  if (regions.makes_score) {
    words += fmt::format("; its weight {:.4f} makes it add {}, regions next to it add {}",
                         peak.weight, number(peak.adds(), true), number(peak.alongside, true));
  }
  return words;
}

std::string score_in_words(const DocumentRegions& regions) {
  std::string words = fmt::format("Score {}", number_in_words(regions, regions.score));
  if (!regions.makes_score || regions.peaks.empty()) return words;
  for (std::size_t p = 0; p < regions.peaks.size(); ++p) {
    const RegionPeak& peak = regions.peaks[p];
    words += fmt::format("{}{} (region {}) {} (next to it)", p == 0 ? " = " : " ",
                         number_in_words(regions, peak.adds(), p > 0), p + 1,
                         number_in_words(regions, peak.alongside, true));
  }
  const std::string rest = number_in_words(regions, regions.without_peak, true);
  if (rest != number_in_words(regions, 0, true))
    words += fmt::format(" {} (next to the document's end, as there is no third region)", rest);
  return words;
}

std::string regions_in_words(const DocumentRegions& regions) {
  std::string words = score_in_words(regions);
  if (regions.peaks.empty()) words += "\nThe document has no words, and so no regions.";
  for (std::size_t p = 0; p < regions.peaks.size(); ++p)
    words += fmt::format("\nRegion {}: {}", p + 1, peak_in_words(regions, regions.peaks[p]));
  if (const std::string notes = notes_in_words(regions); !notes.empty()) words += '\n' + notes;
  return words;
}

namespace {

/// Colours of the first, second and third region, as in figures (app/drawing/chart_page.h):
/// distinguishable with colour vision deficiency.
constexpr std::array<std::string_view, 3> colours{"#d98a1f", "#3d9bdc", "#30a583"};

/// The lightness scale of heat, from none to most, as in maps (app/drawing/map.h), on white.
constexpr std::array<std::array<double, 3>, 5> ramp{
    {{252, 253, 241}, {203, 196, 129}, {110, 146, 131}, {51, 86, 136}, {24, 30, 86}}};

constexpr std::string_view style = R"(
body{font:16px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.3rem;margin-bottom:.2rem} .quiet{color:#666} table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top} svg{width:100%;height:3rem}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
tfoot td{border-top:1px solid #8888} .ramp{display:inline-block;width:6rem;height:.7em}
mark{color:inherit;border-radius:2px} .out{color:#999} u{font-weight:600}
@media (prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}.quiet{color:#aaa}mark{color:#111}}
)";

void append_escaped(std::string_view text, std::string& html) {
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
}

std::string escaped(std::string_view text) {
  std::string html;
  append_escaped(text, html);
  return html;
}

std::string heat_colour(double heat) {
  const double at = heat * static_cast<double>(ramp.size() - 1);
  const auto left = std::min(static_cast<std::size_t>(at), ramp.size() - 2);
  std::array<int, 3> mixed{};
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    mixed[i] = static_cast<int>(
        std::lround(std::lerp(ramp[left][i], ramp[left + 1][i], at - static_cast<double>(left))));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

/// All regions along the document, darker where the score is higher, the best ones marked below.
void append_strip(const DocumentRegions& regions, std::string& html) {
  constexpr double width = 1000, heat = 24, all = 34;
  const RegionStrip strip = strip_of(regions);
  if (strip.cells.empty()) return;
  const double unit = width / static_cast<double>(regions.kept);
  html += fmt::format(
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Scores of "
      "regions along the document\">\n",
      width, all);
  for (const StripCell& cell : strip.cells) {
    const TokenRange words = regions.words_of(cell.region);
    html += fmt::format(
        "<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>words {} to {}: {}"
        "</title></rect>\n",
        cell.begin * unit, (cell.end - cell.begin) * unit + 0.3, heat, heat_colour(cell.heat),
        words.begin + 1, words.end,
        number_in_words(regions, regions.scores[static_cast<std::size_t>(cell.region)]));
  }
  for (std::size_t p = 0; p < regions.peaks.size(); ++p) {
    const TokenRange& range = regions.peaks[p].words;
    html += fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"8\" fill=\"{}\"/>\n",
                        static_cast<double>(range.begin) * unit, heat + 2,
                        static_cast<double>(range.size()) * unit, colours[p]);
  }
  html += "</svg>\n";
  std::string stops;
  for (std::size_t i = 0; i < ramp.size(); ++i)
    stops += ',' + heat_colour(static_cast<double>(i) / static_cast<double>(ramp.size() - 1));
  html += fmt::format(
      "<p class=\"quiet\">Words 1 to {}; the colour at a region's middle is its score, {} or less "
      "<span class=\"ramp\" style=\"background:linear-gradient(to right{})\"></span> {} or "
      "more.</p>\n",
      regions.kept, number_in_words(regions, strip.least), stops,
      number_in_words(regions, strip.most));
}

void append_number(std::string_view number, std::string& html) {
  html += fmt::format("<td class=\"number\">{}</td>", number);
}

/// The terms of the document's score, in columns.
void append_peaks(const DocumentRegions& regions, std::string& html) {
  constexpr std::size_t named = 6;
  if (regions.peaks.empty()) {
    html += "<p>The document has no words, and so no regions.</p>\n";
    return;
  }
  html +=
      "<table><thead><tr><th>region</th><th>words</th><th class=\"number\">score</th>"
      "<th class=\"number\">= if nothing matched</th><th class=\"number\">+ matches</th>";
  if (regions.makes_score) {
    html +=
        "<th class=\"number\">weight</th><th class=\"number\">score x weight</th>"
        "<th class=\"number\">regions next to it</th>";
  }
  html += "<th>matches: query word near cosine</th></tr></thead>\n<tbody>\n";
  double adds = 0, alongside = 0;
  for (std::size_t p = 0; p < regions.peaks.size(); ++p) {
    const RegionPeak& peak = regions.peaks[p];
    html += fmt::format(
        "<tr><td><mark style=\"background:{}\">&nbsp;{}&nbsp;</mark></td><td>{} to {}</td>",
        colours[p], p + 1, peak.words.begin + 1, peak.words.end);
    append_number(number_in_words(regions, peak.score), html);
    append_number(number_in_words(regions, peak.unmatched), html);
    append_number(number_in_words(regions, peak.score - peak.unmatched, true), html);
    if (regions.makes_score) {
      append_number(fmt::format("{:.4f}", peak.weight), html);
      append_number(number_in_words(regions, peak.adds(), true), html);
      append_number(number_in_words(regions, peak.alongside, true), html);
    }
    html += fmt::format("<td>{}</td></tr>\n", escaped(shares_in_words(regions, peak, named)));
    adds += peak.adds();
    alongside += peak.alongside;
  }
  html += "</tbody>\n";
  if (regions.makes_score) {
    html += "<tfoot><tr><td colspan=\"6\">sum</td>";
    append_number(number_in_words(regions, adds, true), html);
    append_number(number_in_words(regions, alongside, true), html);
    html += "<td></td></tr></tfoot>\n";
  }
  html += "</table>\n";
}

/// The peak that a word belongs to, and whether it is in the peak itself or in a neighbouring
/// region.
struct Marked {
  std::size_t peak = colours.size();
  bool alongside = false;
  friend bool operator==(const Marked&, const Marked&) = default;
};

Marked marked_at(const DocumentRegions& regions, std::int64_t word) {
  const auto holds = [word](const TokenRange& range) {
    return range.begin <= word && word < range.end;
  };
  for (std::size_t p = 0; p < regions.peaks.size(); ++p)
    if (holds(regions.peaks[p].words)) return {p, false};
  for (std::size_t p = 0; p < regions.peaks.size(); ++p)
    if (holds(regions.peaks[p].with_neighbours)) return {p, true};
  return {};
}

void append_document(const DocumentRegions& regions, std::string& html) {
  html += "<p>";
  Marked open;
  const auto close = [&] {
    if (open.peak < colours.size()) html += "</mark>";
  };
  const auto all = static_cast<std::int64_t>(regions.document.size());
  for (std::int64_t word = 0; word < all; ++word) {
    const Marked now = word < regions.kept ? marked_at(regions, word) : Marked{};
    if (now != open) {
      close();
      if (word > 0) html += ' ';
      if (now.peak < colours.size()) {
        html += fmt::format("<mark style=\"background:{}{}\">", colours[now.peak],
                            now.alongside ? "66" : "");
      }
      open = now;
    } else if (word > 0) {
      html += ' ';
    }
    if (word == regions.kept) html += "<span class=\"out\" title=\"in no region\">";
    const std::string& text = regions.document[static_cast<std::size_t>(word)];
    const bool requested = std::ranges::find(regions.query, text) != regions.query.end();
    if (requested) html += "<u>";
    append_escaped(text, html);
    if (requested) html += "</u>";
  }
  close();
  if (regions.kept < all) html += "</span>";
  html += "</p>\n";
}

}  // namespace

std::string regions_html(const DocumentRegions& regions) {
  std::string query;
  for (const std::string& word : regions.query) {
    if (!query.empty()) query += ' ';
    query += word;
  }
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{}</title>\n<style>{}</style></head>\n<body>\n"
      "<h1>{}</h1>\n<p class=\"quiet\">{} The query's words are underlined.</p>\n<p>{}.</p>\n",
      escaped(query), style, escaped(query), escaped(about_in_words(regions)),
      score_in_words(regions));
  const std::string notes = notes_in_words(regions);
  if (!notes.empty()) html += fmt::format("<p><strong>{}</strong></p>\n", escaped(notes));
  append_strip(regions, html);
  append_peaks(regions, html);
  append_document(regions, html);
  html += "</body></html>\n";
  return html;
}

}  // namespace attnscope
