// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/number_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/report/latex_text.h"
#include "engine/report/writers.h"

namespace attnscope::gui {
namespace {

using Texts = std::vector<std::string>;

std::string joined(const Texts& texts, const char* between, std::string (*form)(std::string_view)) {
  std::string line;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) line += between;
    line += form(texts[i]);
  }
  return line;
}

std::string markdown_field(std::string_view text) {
  std::string field;
  for (const char c : text) {
    if (c == '|' || c == '\\') field += '\\';
    field += c;
  }
  return field;
}

std::string tab_field(std::string_view text) {
  std::string field(text);
  std::ranges::replace_if(
      field, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return field;
}

std::string write_markdown_grid(const NumberGrid& grid) {
  std::string text = "| " + joined(grid.heads, " | ", markdown_field) + " |\n|";
  for (std::size_t i = 0; i < grid.heads.size(); ++i) text += " --- |";
  text += '\n';
  for (const Texts& row : grid.rows) text += "| " + joined(row, " | ", markdown_field) + " |\n";
  return text;
}

std::string write_latex_grid(const NumberGrid& grid) {
  std::string text = grid.note.empty() ? "" : "% " + tab_field(grid.note) + "\n";
  text += "\\begin{tabular}{" + std::string(grid.heads.size(), 'l') + "}\n\\toprule\n" +
          joined(grid.heads, " & ", report::latex_escaped) + " \\\\\n\\midrule\n";
  for (const Texts& row : grid.rows) {
    text += joined(row, " & ", report::latex_escaped) + " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string write_json_grid(const NumberGrid& grid) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Texts& row : grid.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[grid.heads[i]] = row[i];
    rows.push_back(std::move(object));
  }
  return rows.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string write_lines(const NumberGrid& grid, const char* between,
                        std::string (*form)(std::string_view)) {
  std::string text = joined(grid.heads, between, form) + "\n";
  for (const Texts& row : grid.rows) text += joined(row, between, form) + "\n";
  return text;
}

}  // namespace

std::string number_text(double value) {
  return fmt::format("{:.9g}", value);
}

std::string write_grid(const NumberGrid& grid, report::TableFormat format) {
  switch (format) {
    case report::TableFormat::csv:
      return write_lines(grid, ",", report::csv_field);
    case report::TableFormat::markdown:
      return write_markdown_grid(grid);
    case report::TableFormat::latex:
      return write_latex_grid(grid);
    case report::TableFormat::json:
      return write_json_grid(grid);
    case report::TableFormat::text:
      break;
  }
  return write_lines(grid, "\t", tab_field);
}

}  // namespace attnscope::gui
