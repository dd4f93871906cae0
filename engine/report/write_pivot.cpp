// SPDX-License-Identifier: Apache-2.0
//
// A pivot as a Sheet. In LaTeX it has the style of the ECIR 2024 paper's Table 3: the baseline
// underlined, the others' relative difference in parentheses, a rule and a heading before each
// block. Numbers to be compared have one unit there.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <span>

#include "engine/report/conditions.h"
#include "engine/report/pivot.h"
#include "engine/report/slice.h"

namespace attnscope::report {
namespace {

bool has_several(const Pivot& pivot) {
  return pivot.choice.cells.size() > 1;
}

/// Calls `each` with every line and whether the previous line belongs to the same row.
void for_each_line(const PivotBlock& block, auto&& each) {
  const PivotLine* before = nullptr;
  for (const PivotLine& line : block.lines) {
    each(line, before != nullptr && before->head == line.head);
    before = &line;
  }
}

std::vector<std::string> notes_of(const Table& table, const Pivot& pivot) {
  const bool tells_time = std::ranges::any_of(pivot.choice.cells, [](Quantity quantity) {
    return quantity == Quantity::time || quantity == Quantity::ratio;
  });
  const std::vector<const Row*> rows = rows_shown(table, pivot);
  return tells_time ? notes_with_intervals(rows) : notes_below(rows);
}

Sheet sheet_for_people(const Table& table, const Pivot& pivot, bool is_text) {
  const std::string quantities = quantities_in_words(table, pivot);
  const std::string between = pivot.title.empty() || quantities.empty() ? "" : "; ";
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {pivot.title + between + quantities},
              .columns = {{"", axis_name(pivot.choice.rows), false}},
              .notes = notes_of(table, pivot),
              .below = {provenance_line(table)}};
  if (has_several(pivot)) sheet.columns.push_back({"", "", false});
  sheet.labels = sheet.columns.size();
  for (const PivotHead& column : pivot.columns) sheet.columns.push_back({"", head_words(column)});
  if (pivot.blocks.size() > 1 && !is_text) sheet.block_column = SheetColumn{"", "Setting", false};
  for (const PivotBlock& block : pivot.blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.words;
    for_each_line(block, [&](const PivotLine& line, bool again) {
      std::vector<SheetCell>& cells = lines.rows.emplace_back();
      cells.emplace_back(again ? "" : head_words(pivot.rows[line.head]));
      if (has_several(pivot)) cells.emplace_back(std::string(short_name(line.quantity)));
      for (const PivotCell& cell : line.cells) {
        cells.emplace_back(cell.text);
        cells.back().is_baseline = cell.is_baseline;
      }
    });
  }
  return sheet;
}

/// One value of a row, named like the table's column for it.
struct Named {
  std::string_view key;
  Value value;
};

std::vector<Named> values_of(const PivotCell& cell, Quantity quantity) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Value(*value) : Value();
  };
  const Value ratio = cell.ratio ? Value(cell.ratio->ratio) : Value(),
              verdict = cell.ratio ? Value(std::string(verdict_in_words(*cell.ratio))) : Value();
  switch (quantity) {
    case Quantity::time:
      return {{"ms_per_document", cell.value ? Value(*cell.value / 1e6) : Value()},
              {"ratio", ratio},
              {"verdict", verdict}};
    case Quantity::memory:
      return {{"peak_bytes_per_document", number(cell.value)},
              {"peak_bytes_ratio", number(cell.memory_ratio)}};
    case Quantity::ratio:
      return {{"ratio", number(cell.value)}, {"verdict", verdict}};
    case Quantity::limit:
      return {{"share_of_limit", number(cell.value)}};
    case Quantity::error:
      return {{"relative_error", number(cell.value)}};
    case Quantity::per_ms:
      return {{"documents_per_ms", number(cell.value)}};
    case Quantity::effectiveness:
      return {{"effectiveness", number(cell.value)}};
    case Quantity::executed:
      break;
  }
  return {{"executed_ratio", number(cell.value)}};
}

/// The pivot's own grid, with one line for each number of a quantity: its value, and its comparison
/// with the baseline.
Sheet grid_of_numbers(const Table& table, const Pivot& pivot) {
  Sheet sheet{.columns = {{pivot.choice.rows, ""}, {"quantity", ""}},
              .block_column = SheetColumn{"setting", ""}};
  for (const PivotHead& column : pivot.columns) sheet.columns.push_back({column.value, ""});
  sheet.columns.push_back({"run", ""});
  sheet.columns.push_back({"provenance", ""});
  const std::string provenance = provenance_line(table);
  for (const PivotBlock& block : pivot.blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.words;
    for (const PivotLine& line : block.lines) {
      const std::vector<Named> names = values_of({}, line.quantity);
      // Without a baseline there is only the quantity's own value.
      const std::size_t count = table.baseline ? names.size() : 1;
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<SheetCell>& cells = lines.rows.emplace_back();
        cells.emplace_back(pivot.rows[line.head].value);
        cells.emplace_back(std::string(names[i].key));
        for (const PivotCell& cell : line.cells) {
          const Value value = values_of(cell, line.quantity)[i].value;
          // A missing number is replaced by its reason.
          const bool says_why =
              std::holds_alternative<std::monostate>(value) && i == 0 && !cell.is_baseline;
          cells.emplace_back(says_why ? Value(cell.text) : value);
        }
        cells.emplace_back(table.run.id.uuid);
        cells.emplace_back(provenance);
      }
    }
  }
  return sheet;
}

/// One object for each cell, with all its quantities.
Sheet list_of_cells(const Table& table, const Pivot& pivot) {
  Sheet sheet{
      .columns = {
          {"setting", ""}, {pivot.choice.rows, ""}, {pivot.choice.columns, ""}, {"status", ""}}};
  const std::size_t quantities = pivot.choice.cells.size();
  for (const Quantity quantity : pivot.choice.cells) {
    for (const Named& named : values_of({}, quantity))
      sheet.columns.push_back({std::string(named.key), ""});
  }
  sheet.columns.push_back({"run", ""});
  sheet.columns.push_back({"provenance", ""});
  const std::string provenance = provenance_line(table);
  for (const PivotBlock& block : pivot.blocks) {
    for (std::size_t first = 0; first < block.lines.size(); first += quantities) {
      for (std::size_t column = 0; column < pivot.columns.size(); ++column) {
        const PivotCell& any = block.lines[first].cells[column];
        if (!any.row) continue;
        std::vector<SheetCell> cells{block.words, pivot.rows[block.lines[first].head].value,
                                     pivot.columns[column].value,
                                     outcome_of(table.rows[*any.row]).status};
        for (std::size_t q = 0; q < quantities; ++q) {
          const PivotLine& line = block.lines[first + q];
          for (Named& named : values_of(line.cells[column], line.quantity))
            cells.emplace_back(std::move(named.value));
        }
        cells.emplace_back(table.run.id.uuid);
        cells.emplace_back(provenance);
        sheet.add(std::move(cells));
      }
    }
  }
  return sheet;
}

struct SharedUnit {
  std::string_view name;
  double size;  // in ns, bytes or the quantity's own unit
};

double least_of(const PivotLine& line) {
  double least = std::numeric_limits<double>::infinity();
  for (const PivotCell& cell : line.cells) least = std::min(least, cell.value.value_or(least));
  return least;
}

/// The smallest time, which determines the common unit.
double least_time(const Pivot& pivot) {
  double least = std::numeric_limits<double>::infinity();
  for (const PivotBlock& block : pivot.blocks) {
    for (const PivotLine& line : block.lines) {
      if (line.quantity == Quantity::time) least = std::min(least, least_of(line));
    }
  }
  return least;
}

SharedUnit unit_of(const Pivot& pivot, const PivotLine& line) {
  switch (line.quantity) {
    case Quantity::time: {
      const double least = least_time(pivot);
      return least >= 1e6 && std::isfinite(least) ? SharedUnit{"ms", 1e6} : SharedUnit{"µs", 1e3};
    }
    case Quantity::memory:
      return {"MB", 1e6};
    case Quantity::limit:
      return {"%", 0.01};
    case Quantity::executed:
      return {"×", 1};
    default:
      return {"", 1};
  }
}

SheetCell paper_cell(const PivotCell& cell, Quantity quantity, const SharedUnit& unit) {
  SheetCell one;
  if (!cell.value) {
    one = cell.text;
  } else if (quantity == Quantity::error) {
    one = fmt::format("{:.1e}", *cell.value);
  } else if (quantity == Quantity::ratio) {
    one = cell.is_baseline ? "1" : cell.text;
  } else {
    one = three_digits(*cell.value / unit.size);
    one.difference = cell.difference;
    one.marks = cell.marks;
  }
  one.is_baseline = cell.value && cell.is_baseline && quantity != Quantity::error;
  return one;
}

std::string caption_of(const Table& table, const Pivot& pivot) {
  std::string text = quantities_in_words(table, pivot);
  // The caption explains parentheses and underlines once, like the paper's.
  if (const std::size_t comma = text.find(", in parentheses"); comma != std::string::npos)
    text.resize(comma);
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(text[0]));
  if (!has_several(pivot)) {
    PivotLine any;
    any.quantity = pivot.choice.cells.front();
    if (const SharedUnit unit = unit_of(pivot, any); !unit.name.empty())
      text += fmt::format(", in {}", unit.name);
  }
  if (!pivot.title.empty()) text += fmt::format(" ({})", pivot.title);
  text += ".";
  if (table.baseline)
    text += " Relative differences to the baseline (underlined) are given in parentheses.";
  return text;
}

Sheet sheet_for_paper(const Table& table, const Pivot& pivot) {
  const bool several = has_several(pivot);
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {caption_of(table, pivot)},
              .columns = {{"", "", false}},
              .notes = notes_of(table, pivot),
              .below = {provenance_line(table)}};
  if (several) sheet.columns.push_back({"", "", false});
  std::string label = latex_escaped(axis_name(pivot.choice.rows)) + (several ? " & Unit" : "");
  std::vector<LatexHead> heads;
  for (const PivotHead& head : pivot.columns) {
    heads.push_back({head.contender, head.window});
    sheet.columns.push_back({"", head.words});
    const std::string words = latex_escaped(head.words);
    if (pivot.choice.columns != "contender")
      label += " & " + (head.is_baseline ? fmt::format("\\underline{{{}}}", words) : words);
  }
  sheet.latex_head = pivot.choice.columns == "contender"
                         ? latex_head(label, several ? " & " : "", heads)
                         : label + " \\\\\n";
  for (const PivotBlock& block : pivot.blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.words;
    for_each_line(block, [&](const PivotLine& line, bool again) {
      const SharedUnit unit = unit_of(pivot, line);
      std::vector<SheetCell>& cells = lines.rows.emplace_back();
      const PivotHead& head = pivot.rows[line.head];
      cells.emplace_back(again ? "" : head.words);
      cells.back().is_baseline = !again && head.is_baseline;
      if (several) cells.emplace_back(std::string(unit.name));
      for (const PivotCell& cell : line.cells)
        cells.push_back(paper_cell(cell, line.quantity, unit));
    });
  }
  return sheet;
}

}  // namespace

std::string write_pivot(const Table& table, const Pivot& pivot, TableFormat format) {
  switch (format) {
    case TableFormat::csv:
      return write_sheet(grid_of_numbers(table, pivot), format);
    case TableFormat::json:
      return write_sheet(list_of_cells(table, pivot), format);
    case TableFormat::latex:
      return write_sheet(sheet_for_paper(table, pivot), format);
    default:
      return write_sheet(sheet_for_people(table, pivot, format == TableFormat::text), format);
  }
}

}  // namespace attnscope::report
