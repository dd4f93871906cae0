// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/inspect/regions.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {
namespace {

/// Colours of the first, second and third region, as in figures (contender_style.h):
/// distinguishable with colour vision deficiency.
constexpr std::array<std::string_view, 3> colours{"#d98a1f", "#3d9bdc", "#30a583"};

/// The lightness scale of heat, from none to most, as in maps (map_colors.h), on white.
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
