// SPDX-License-Identifier: Apache-2.0
//
// A comparison for terminals, documents and papers. JSON is in compare_json.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/report/compare.h"
#include "engine/report/latex_text.h"
#include "engine/report/number_text.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

using Line = std::array<std::string, ComparedLine::texts_count>;

std::string write_line(const Line& line,
                       const std::array<std::size_t, std::tuple_size_v<Line>>& widths) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    text.append("  ").append(padded(line[i], widths[i], i == 0 || i + 1 == line.size()));
  }
  return without_trailing_blanks(std::move(text)) + "\n";
}

std::string as_text(const Comparison& comparison) {
  std::string text = wrapped("A: " + provenance_line(comparison.run_a), "   ") +
                     wrapped("B: " + provenance_line(comparison.run_b), "   ");
  const std::vector<std::string> notes = comparison_notes(comparison);
  // The last two tell of the cells and stand below them.
  for (std::size_t i = 0; i + 2 < notes.size(); ++i) text += wrapped(notes[i], "   ");
  const std::vector<ComparedLine> lines = comparison_lines(comparison);
  const Line& head = comparison_headings();
  std::array<std::size_t, std::tuple_size_v<Line>> widths{};
  for (std::size_t i = 0; i < head.size(); ++i) {
    widths[i] = width_of(head[i]);
    for (const ComparedLine& line : lines) widths[i] = std::max(widths[i], width_of(line.texts[i]));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 || lines[i].setting != lines[i - 1].setting) {
      text.append("\n").append(wrapped(lines[i].setting, "  "));
      text += write_line(head, widths);
    }
    text += write_line(lines[i].texts, widths);
  }
  return text + "\n" + wrapped(notes[notes.size() - 2], "  ") + wrapped(notes.back(), "  ");
}

std::string as_markdown(const Comparison& comparison) {
  std::string text = "| setting |";
  std::string rule = "| --- |";
  for (const std::string& heading : comparison_headings()) {
    text += fmt::format(" {} |", heading);
    rule += " --- |";
  }
  text += "\n" + rule + "\n";
  for (const ComparedLine& line : comparison_lines(comparison)) {
    text += fmt::format("| {} |", line.setting);
    for (const std::string& word : line.texts) text += fmt::format(" {} |", word);
    text += "\n";
  }
  for (const std::string& note : comparison_notes(comparison)) text += "\n" + note + "\n";
  return text + fmt::format("\nA: {}\n\nB: {}\n", provenance_line(comparison.run_a),
                            provenance_line(comparison.run_b));
}

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.9g}", *value) : std::string();
}

std::optional<double> ms_per_item(const StoredCell& cell) {
  if (cell.damaged || cell.cell.status != CellStatus::ok) return std::nullopt;
  return cell.summary.median_ns / 1e6 /
         static_cast<double>(std::max<std::int64_t>(cell.cell.batch, 1));
}

std::string as_csv(const Comparison& comparison) {
  std::string text =
      "setting,contender,a_ms,b_ms,ratio,ratio_low,ratio_high,verdict,run_a,run_b\r\n";
  const std::vector<ComparedLine> lines = comparison_lines(comparison);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ComparedCell& cell = comparison.cells[i];
    const auto of_ratio = [&](double statistics::Ratio::*part) {
      return cell.ratio ? number((*cell.ratio).*part) : std::string();
    };
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(lines[i].setting),
                        csv_field(cell.a.cell.contender.id()), number(ms_per_item(cell.a)),
                        number(ms_per_item(cell.b)), of_ratio(&statistics::Ratio::ratio),
                        of_ratio(&statistics::Ratio::low), of_ratio(&statistics::Ratio::high),
                        cell.ratio ? name_of(cell.ratio->verdict) : std::string_view(),
                        comparison.run_a.id.uuid, comparison.run_b.id.uuid);
  }
  return text;
}

std::string as_latex(const Comparison& comparison) {
  std::string text = "\\begin{tabular}{@{}llrrrrl@{}}\n\\toprule\nSetting";
  for (const std::string& heading : comparison_headings()) text += " & " + latex_escaped(heading);
  text += " \\\\\n\\midrule\n";
  for (const ComparedLine& line : comparison_lines(comparison)) {
    text += latex_escaped(line.setting);
    for (const std::string& word : line.texts) text += " & " + latex_escaped(word);
    text += " \\\\\n";
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  text += "% A: " + provenance_line(comparison.run_a) + "\n";
  return text + "% B: " + provenance_line(comparison.run_b) + "\n";
}

}  // namespace

std::string write_comparison(const Comparison& comparison, TableFormat format) {
  switch (format) {
    case TableFormat::markdown:
      return as_markdown(comparison);
    case TableFormat::csv:
      return as_csv(comparison);
    case TableFormat::latex:
      return as_latex(comparison);
    case TableFormat::json:
      return write_comparison_json(comparison);
    case TableFormat::text:
      break;
  }
  return as_text(comparison);
}

}  // namespace attnscope::report
