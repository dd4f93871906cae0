// SPDX-License-Identifier: Apache-2.0
//
// A pivot for people's eyes and for programs; its LaTeX is in write_pivot_latex.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/report/conditions.h"
#include "engine/report/number_text.h"
#include "engine/report/pivot_words.h"
#include "engine/report/row_values.h"
#include "engine/report/slice.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : fmt::format("{}; {}", a, b);
}

/// Lines of words; the first `labels` of each are no numbers.
struct Words {
  std::vector<std::vector<std::string>> lines;
  std::size_t labels = 1;
};

Words words_of(const Pivot& pivot, const PivotBlock& block) {
  Words words;
  const bool several = pivot.choice.cells.size() > 1;
  words.labels = several ? 2 : 1;
  std::vector<std::string> head{axis_name(pivot.choice.rows)};
  if (several) head.emplace_back();
  for (const PivotHead& column : pivot.columns) head.push_back(head_words(column));
  words.lines.push_back(std::move(head));
  const PivotLine* before = nullptr;
  for (const PivotLine& line : block.lines) {
    const bool again = before != nullptr && before->head == line.head;
    std::vector<std::string> text{again ? "" : head_words(pivot.rows[line.head])};
    if (several) text.emplace_back(short_name(line.quantity));
    for (const PivotCell& cell : line.cells) text.push_back(cell.text);
    words.lines.push_back(std::move(text));
    before = &line;
  }
  return words;
}

std::vector<std::size_t> widths_of(const Words& words) {
  std::vector<std::size_t> widths(words.lines.front().size(), 0);
  for (const auto& line : words.lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  return widths;
}

/// As many columns side by side as a terminal's line takes, the others below.
std::string bands_of(const Words& words) {
  const std::vector<std::size_t> widths = widths_of(words);
  std::size_t label_width = 0;
  for (std::size_t i = 0; i < words.labels; ++i) label_width += widths[i] + 2;
  std::string text;
  for (std::size_t begin = words.labels; begin < widths.size();) {
    std::size_t end = begin, width = label_width;
    while (end < widths.size() && (end == begin || width + widths[end] + 2 <= line_width)) {
      width += widths[end++] + 2;
    }
    if (begin != words.labels) text += "\n";
    for (const auto& line : words.lines) {
      std::string row;
      for (std::size_t i = 0; i < end; ++i) {
        if (i >= words.labels && i < begin) continue;
        row.append("  ").append(padded(one_line(line[i]), widths[i], i < words.labels));
      }
      text.append(without_trailing_blanks(row)).append("\n");
    }
    begin = end;
  }
  return text;
}

/// Why cells have no number, and what is to be known beside those that have one.
std::vector<std::string> notes_of(const Table& table, const Pivot& pivot) {
  std::vector<std::string> notes;
  for (const Row* row : rows_shown(table, pivot)) {
    const std::string who = fmt::format("{}, {} tokens", row->cell.cell.contender.name,
                                        row->cell.point.sequence_tokens);
    for (const std::string& note : notes_on(*row)) {
      notes.push_back(one_line(fmt::format("{}: {}", who, note)));
    }
    const Outcome outcome = outcome_of(*row);
    if (is_measured(*row) || outcome.reason.empty()) continue;
    notes.push_back(one_line(fmt::format("{}: {}: {}", who, outcome.status, outcome.reason)));
  }
  return notes;
}

std::string write_text(const Table& table, const Pivot& pivot) {
  std::string text = wrapped(joined(pivot.title, quantities_in_words(table, pivot)), "  ");
  for (const PivotBlock& block : pivot.blocks) {
    text += "\n";
    if (!block.words.empty()) text += wrapped(block.words, "  ");
    text += bands_of(words_of(pivot, block));
  }
  for (const std::string& note : notes_of(table, pivot))
    text += wrapped(fmt::format("  {}", note), "      ");
  return text.append("\n").append(wrapped(provenance_line(table.run), "  "));
}

std::string markdown_field(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(std::string(text))) {
    if (std::string_view("|\\*_`<").find(c) != std::string_view::npos) escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

std::string write_markdown(const Table& table, const Pivot& pivot) {
  std::string text =
      fmt::format("{}\n\n", markdown_field(joined(pivot.title, quantities_in_words(table, pivot))));
  const bool settings = pivot.blocks.size() > 1;
  for (std::size_t b = 0; b < pivot.blocks.size(); ++b) {
    const Words words = words_of(pivot, pivot.blocks[b]);
    for (std::size_t l = b == 0 ? 0 : 1; l < words.lines.size(); ++l) {
      text += "|";
      if (settings) {
        text += fmt::format(" {} |", l == 0 ? "Setting" : markdown_field(pivot.blocks[b].words));
      }
      for (const std::string& word : words.lines[l]) {
        text += fmt::format(" {} |", markdown_field(word));
      }
      text += "\n";
      if (l > 0) continue;
      text += settings ? "| :-- |" : "|";
      for (std::size_t i = 0; i < words.lines[l].size(); ++i) {
        text += i < words.labels ? " :-- |" : " --: |";
      }
      text += "\n";
    }
  }
  for (const std::string& note : notes_of(table, pivot))
    text += fmt::format("\n{}\n", markdown_field(note));
  return text + fmt::format("\n{}\n", markdown_field(provenance_line(table.run)));
}

/// One value of a row, under the name that a table's column of it has.
struct Named {
  std::string_view key;
  Value value;
};

std::vector<Named> values_of(const PivotCell& cell, Quantity quantity) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Value(*value) : Value();
  };
  const auto verdict = cell.verdict ? Value(std::string(name_of(*cell.verdict))) : Value();
  switch (quantity) {
    case Quantity::time:
      return {{"ms_per_document", cell.value ? Value(*cell.value / 1e6) : Value()},
              {"ratio", number(cell.ratio)},
              {"verdict", verdict}};
    case Quantity::memory:
      return {{"peak_bytes_per_document", number(cell.value)},
              {"peak_bytes_ratio", number(cell.ratio)}};
    case Quantity::ratio:
      return {{"ratio", number(cell.value)}, {"verdict", verdict}};
    case Quantity::limit:
      return {{"share_of_limit", number(cell.value)}};
    case Quantity::error:
      return {{"relative_error", number(cell.value)}};
    case Quantity::executed:
      break;
  }
  return {{"executed_ratio", number(cell.value)}};
}

/// One line of numbers: a quantity's own, or what it is beside the baseline.
std::string csv_line(const PivotLine& line, std::size_t which) {
  std::string text;
  for (const PivotCell& cell : line.cells) {
    const Value value = values_of(cell, line.quantity)[which].value;
    const bool is_absent = std::holds_alternative<std::monostate>(value);
    // Why there is none stands where the number would.
    const bool says_why = is_absent && which == 0 && !cell.is_baseline;
    text += csv_field(says_why ? cell.text : text_of(value)).append(",");
  }
  return text;
}

std::string write_csv(const Table& table, const Pivot& pivot) {
  std::string text = fmt::format("setting,{},quantity,", pivot.choice.rows);
  for (const PivotHead& column : pivot.columns) text += csv_field(column.value).append(",");
  text += "run,provenance\r\n";
  const std::string ending =
      fmt::format("{},{}\r\n", csv_field(table.run.id.uuid), csv_field(provenance_line(table.run)));
  for (const PivotBlock& block : pivot.blocks) {
    for (const PivotLine& line : block.lines) {
      const std::vector<Named> names = values_of({}, line.quantity);
      // Without a baseline there is nothing beside a quantity but itself.
      const std::size_t lines = table.baseline ? names.size() : 1;
      for (std::size_t i = 0; i < lines; ++i) {
        text += fmt::format("{},{},{},", csv_field(block.words),
                            csv_field(pivot.rows[line.head].value), names[i].key);
        text += csv_line(line, i) + ending;
      }
    }
  }
  return text;
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

std::string write_json(const Table& table, const Pivot& pivot) {
  using nlohmann::ordered_json;
  const std::string provenance = provenance_line(table.run);
  ordered_json cells = ordered_json::array();
  const std::size_t quantities = pivot.choice.cells.size();
  for (const PivotBlock& block : pivot.blocks) {
    for (std::size_t first = 0; first < block.lines.size(); first += quantities) {
      for (std::size_t column = 0; column < pivot.columns.size(); ++column) {
        const PivotCell& any = block.lines[first].cells[column];
        if (!any.row) continue;
        ordered_json& object = cells.emplace_back(ordered_json::object());
        object["setting"] = block.words;
        object[pivot.choice.rows] = pivot.rows[block.lines[first].head].value;
        object[pivot.choice.columns] = pivot.columns[column].value;
        object["status"] = outcome_of(table.rows[*any.row]).status;
        for (std::size_t q = 0; q < quantities; ++q) {
          const PivotLine& line = block.lines[first + q];
          for (const Named& named : values_of(line.cells[column], line.quantity)) {
            object[std::string(named.key)] = json_of(named.value);
          }
        }
        object["run"] = table.run.id.uuid;
        object["provenance"] = provenance;
      }
    }
  }
  return cells.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string write_pivot(const Table& table, const Pivot& pivot, TableFormat format) {
  switch (format) {
    case TableFormat::text:
      return write_text(table, pivot);
    case TableFormat::markdown:
      return write_markdown(table, pivot);
    case TableFormat::csv:
      return write_csv(table, pivot);
    case TableFormat::latex:
      return write_pivot_latex(table, pivot);
    case TableFormat::json:
      break;
  }
  return write_json(table, pivot);
}

}  // namespace attnscope::report
