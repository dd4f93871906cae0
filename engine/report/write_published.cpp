// SPDX-License-Identifier: Apache-2.0
//
// Published tables in the forms of our own, never without their citation and label.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/report/latex_text.h"
#include "engine/report/number_text.h"
#include "engine/report/published.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

/// "Published, not measured here: CITATION, Table 3; one NVIDIA A100 40 GB"
std::string source_of(const PublishedTable& table) {
  std::string label(published_label);
  label.front() = 'P';
  return fmt::format("{}: {}. {}; {}", label, table.citation, table.title, table.machine);
}

std::string as_text(const PublishedTable& table) {
  std::string text = wrapped(fmt::format("{}: {}", table.title, table.subject), "  ");
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = width_of(table.columns[i].title);
    for (const auto& row : table.rows) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  const auto add_line = [&](auto&& cell) {
    std::string line;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      line += padded(cell(i), widths[i], !table.columns[i].is_number) + "  ";
    }
    text += without_trailing_blanks(std::move(line)) + "\n";
  };
  add_line([&](std::size_t i) { return table.columns[i].title; });
  for (const auto& row : table.rows) add_line([&](std::size_t i) { return row[i]; });
  return text + wrapped(source_of(table), "  ") + wrapped(table.note, "  ");
}

std::string as_markdown(const PublishedTable& table) {
  std::string text = "|";
  for (const PublishedColumn& column : table.columns) text += fmt::format(" {} |", column.title);
  text += "\n|";
  for (const PublishedColumn& column : table.columns)
    text += column.is_number ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const std::string& field : row) text += fmt::format(" {} |", field);
    text += "\n";
  }
  return text + fmt::format("\n{}. {}\n", source_of(table), table.note);
}

std::string as_csv(const PublishedTable& table) {
  std::string text;
  for (const PublishedColumn& column : table.columns) text += csv_field(column.key) + ",";
  text += "source\r\n";
  const std::string source = csv_field(source_of(table));
  for (const auto& row : table.rows) {
    for (const std::string& field : row) text += csv_field(field) + ",";
    text += source + "\r\n";
  }
  return text;
}

std::string as_latex(const PublishedTable& table) {
  std::string text = "\\begin{table}\n\\centering\n\\begin{tabular}{";
  for (const PublishedColumn& column : table.columns) text += column.is_number ? 'r' : 'l';
  text += "}\n\\toprule\n";
  const auto add_line = [&](auto&& cell) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      text += (i == 0 ? "" : " & ") + latex_escaped(cell(i));
    }
    text += " \\\\\n";
  };
  add_line([&](std::size_t i) { return table.columns[i].title; });
  text += "\\midrule\n";
  for (const auto& row : table.rows) add_line([&](std::size_t i) { return row[i]; });
  return text + fmt::format("\\bottomrule\n\\end{{tabular}}\n\\caption{{{}. {}}}\n\\end{{table}}\n",
                            latex_escaped(source_of(table)), latex_escaped(table.note));
}

std::string as_json(const PublishedTable& table) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const auto& row : table.rows) {
    ordered_json& object = rows.emplace_back(ordered_json::object());
    for (std::size_t i = 0; i < table.columns.size(); ++i) object[table.columns[i].key] = row[i];
    object["source"] = source_of(table);
  }
  return rows.dump(2) + "\n";
}

}  // namespace

std::string write_published(const PublishedTable& table, TableFormat format) {
  switch (format) {
    case TableFormat::text:
      return as_text(table);
    case TableFormat::markdown:
      return as_markdown(table);
    case TableFormat::csv:
      return as_csv(table);
    case TableFormat::latex:
      return as_latex(table);
    case TableFormat::json:
      break;
  }
  return as_json(table);
}

}  // namespace attnscope::report
