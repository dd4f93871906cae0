// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/inspect/regions.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {
namespace {

/// Of the first, second and third region, apart for eyes that tell few colours (Okabe and Ito).
constexpr std::array<std::string_view, 3> colours{"#e69f00", "#56b4e9", "#009e73"};

constexpr std::string_view style = R"(
body{font:16px/1.6 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.3rem;margin-bottom:.2rem} .quiet{color:#666} table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top} svg{width:100%;height:3rem}
mark{color:inherit;border-radius:2px} .out{color:#999}
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

/// All regions along the document, darker where the score is higher, the best ones marked below.
void append_strip(const DocumentRegions& regions, std::string& html) {
  constexpr double width = 1000, heat = 24, all = 34;
  const auto words = static_cast<double>(std::max<std::int64_t>(regions.kept, 1));
  float least = 0, most = 0;
  bool first = true;
  for (const float score : regions.scores) {
    if (score == 0) continue;
    least = first ? score : std::min(least, score);
    most = first ? score : std::max(most, score);
    first = false;
  }
  html += fmt::format(
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Scores of "
      "regions along the document\">\n<rect width=\"{}\" height=\"{}\" fill=\"#8883\"/>\n",
      width, all, width, heat);
  for (std::size_t r = 0; r < regions.scores.size(); ++r) {
    const float score = regions.scores[r];
    if (score == 0) continue;
    const double begin = 2.0 * static_cast<double>(r);
    const double share = most > least ? static_cast<double>((score - least) / (most - least)) : 1;
    html += fmt::format(
        "<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"{}\" fill=\"#b2182b\" "
        "fill-opacity=\"{:.2f}\"/>\n",
        begin / words * width, 2 / words * width + 0.3, heat, 0.05 + 0.95 * share);
  }
  for (std::size_t p = 0; p < regions.peaks.size(); ++p) {
    const TokenRange& range = regions.peaks[p].words;
    html += fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"8\" fill=\"{}\"/>\n",
                        static_cast<double>(range.begin) / words * width, heat + 2,
                        static_cast<double>(range.size()) / words * width, colours[p]);
  }
  html += "</svg>\n";
}

void append_peaks(const DocumentRegions& regions, std::string& html) {
  constexpr std::size_t named = 6;
  if (regions.peaks.empty()) {
    html += "<p>The document has no words, and so no regions.</p>\n";
    return;
  }
  html +=
      "<table><tr><th>region</th><th>words</th><th>score</th><th>made by (query word near cosine)"
      "</th></tr>\n";
  for (std::size_t p = 0; p < regions.peaks.size(); ++p) {
    const RegionPeak& peak = regions.peaks[p];
    html += fmt::format(
        "<tr><td><mark style=\"background:{}\">&nbsp;{}&nbsp;</mark></td><td>{} to {}</td>"
        "<td>{:.4g}</td><td>{}</td></tr>\n",
        colours[p], p + 1, peak.words.begin + 1, peak.words.end, peak.score,
        escaped(shares_in_words(regions, peak, named)));
  }
  html += "</table>\n";
}

/// The peak that a word is in, and whether in itself or in a region beside it.
struct Marked {
  std::size_t peak = colours.size();
  bool beside = false;
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
                            now.beside ? "66" : "");
      }
      open = now;
    } else if (word > 0) {
      html += ' ';
    }
    if (word == regions.kept) html += "<span class=\"out\" title=\"in no region\">";
    append_escaped(regions.document[static_cast<std::size_t>(word)], html);
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
      "<h1>{}</h1>\n<p class=\"quiet\">Regions of {} words that made the score of {}; the regions "
      "beside the best ones, which count, too, are paler.{}{}</p>\n",
      escaped(query), style, escaped(query), cpu::region_tokens, escaped(regions.model),
      regions.note.empty() ? "" : " ", escaped(regions.note));
  const std::string left_out = left_out_in_words(regions);
  if (!left_out.empty()) html += fmt::format("<p><strong>{}</strong></p>\n", escaped(left_out));
  append_strip(regions, html);
  append_peaks(regions, html);
  append_document(regions, html);
  html += "</body></html>\n";
  return html;
}

}  // namespace attnscope
