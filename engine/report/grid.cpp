// SPDX-License-Identifier: Apache-2.0
#include "engine/report/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/report/latex_text.h"
#include "engine/report/number_text.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

std::size_t first_column(const Grid& grid) {
  return grid.in_blocks ? 1 : 0;
}

/// Whether a heading stands before that row.
bool begins_block(const Grid& grid, std::size_t row) {
  return grid.in_blocks && (row == 0 || grid.rows[row][0] != grid.rows[row - 1][0]);
}

std::string as_text(const Grid& grid) {
  std::string text = wrapped(grid.heading, "  ");
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::size_t width = width_of(grid.columns[i].title);
    for (const auto& row : grid.rows) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  const auto add_line = [&](auto&& cell) {
    std::string line;
    for (std::size_t i = first_column(grid); i < grid.columns.size(); ++i) {
      line += padded(cell(i), widths[i], !grid.columns[i].is_number) + "  ";
    }
    text += without_trailing_blanks(std::move(line)) + "\n";
  };
  const auto add_head = [&] { add_line([&](std::size_t i) { return grid.columns[i].title; }); };
  if (!grid.in_blocks) add_head();
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    if (begins_block(grid, row)) {
      text += fmt::format("\n{}\n", grid.rows[row][0]);
      add_head();
    }
    add_line([&](std::size_t i) { return grid.rows[row][i]; });
  }
  if (grid.in_blocks) text += "\n";
  for (const std::string& note : grid.notes) text += wrapped(note, "  ");
  return text;
}

std::string as_markdown(const Grid& grid) {
  std::string text = "|";
  for (const PublishedColumn& column : grid.columns) text += fmt::format(" {} |", column.title);
  text += "\n|";
  for (const PublishedColumn& column : grid.columns)
    text += column.is_number ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& row : grid.rows) {
    text += "|";
    for (const std::string& field : row) text += fmt::format(" {} |", field);
    text += "\n";
  }
  text += "\n";
  for (std::size_t i = 0; i < grid.notes.size(); ++i)
    text.append(grid.notes[i]).append(i + 1 < grid.notes.size() ? " " : "\n");
  return text;
}

std::string as_csv(const Grid& grid) {
  std::string text;
  for (const PublishedColumn& column : grid.columns) text += csv_field(column.key) + ",";
  text += "source\r\n";
  const std::string source = csv_field(grid.source);
  for (const auto& row : grid.rows) {
    for (const std::string& field : row) text += csv_field(field) + ",";
    text += source + "\r\n";
  }
  return text;
}

/// A negative number has a minus sign, not a hyphen.
std::string number_or_words(const std::string& text, bool is_number) {
  const bool negative = is_number && text.starts_with('-') && text.size() > 1;
  return negative ? fmt::format("$-${}", latex_escaped(text.substr(1))) : latex_escaped(text);
}

std::string as_latex(const Grid& grid) {
  const std::size_t first = first_column(grid);
  std::string text = "\\begin{table}\n\\centering\n\\begin{tabular}{";
  for (std::size_t i = first; i < grid.columns.size(); ++i)
    text += grid.columns[i].is_number ? 'r' : 'l';
  text += "}\n\\toprule\n";
  const auto add_line = [&](auto&& cell) {
    for (std::size_t i = first; i < grid.columns.size(); ++i) {
      if (i > first) text += " & ";
      text += number_or_words(cell(i), grid.columns[i].is_number);
    }
    text += " \\\\\n";
  };
  add_line([&](std::size_t i) { return grid.columns[i].title; });
  if (!grid.in_blocks) text += "\\midrule\n";
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    if (begins_block(grid, row)) {
      text += fmt::format("\\midrule\n\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n",
                          grid.columns.size() - first, latex_escaped(grid.rows[row][0]));
    }
    add_line([&](std::size_t i) { return grid.rows[row][i]; });
  }
  text += "\\bottomrule\n\\end{tabular}\n\\caption{";
  for (std::size_t i = 0; i < grid.notes.size(); ++i)
    text.append(i == 0 ? "" : " ").append(latex_escaped(grid.notes[i]));
  return text + "}\n\\end{table}\n";
}

std::string as_json(const Grid& grid) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const auto& row : grid.rows) {
    ordered_json& object = rows.emplace_back(ordered_json::object());
    for (std::size_t i = 0; i < grid.columns.size(); ++i) object[grid.columns[i].key] = row[i];
    object["source"] = grid.source;
  }
  return rows.dump(2) + "\n";
}

}  // namespace

std::string write_grid(const Grid& grid, TableFormat format) {
  switch (format) {
    case TableFormat::text:
      return as_text(grid);
    case TableFormat::markdown:
      return as_markdown(grid);
    case TableFormat::csv:
      return as_csv(grid);
    case TableFormat::latex:
      return as_latex(grid);
    case TableFormat::json:
      break;
  }
  return as_json(grid);
}

}  // namespace attnscope::report
