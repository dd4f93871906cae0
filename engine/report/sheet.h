#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A table on paper, and the forms it is written in. Every table of the program is built as a Sheet;
// each form has one writer here, which alone knows how its texts are escaped.
//
//   Sheet sheet{.above = {"What it is of"}, .columns = {{"length", "Length"}, {"ms", "Time
//   (ms)"}}}; sheet.add({"512 tokens", "2.41"}); fmt::print("{}", write_sheet(sheet,
//   TableFormat::markdown));

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope::report {

enum class TableFormat : std::uint8_t { text, markdown, csv, latex, json, html };

/// A format as the command line, a menu and a file name call it.
struct TableFormatName {
  TableFormat format;
  std::string_view name, title, extension;
};
/// Every format; text, the default, is the first.
[[nodiscard]] std::span<const TableFormatName> table_formats();
[[nodiscard]] const TableFormatName& name_of(TableFormat format);
[[nodiscard]] Result<TableFormat> parse_table_format(std::string_view text);
/// "text, markdown, csv, latex or json"
[[nodiscard]] std::string table_format_words();
/// Programs read CSV and JSON: bare numbers under keys, not texts under titles.
[[nodiscard]] constexpr bool is_for_programs(TableFormat format) {
  return format == TableFormat::csv || format == TableFormat::json;
}

/// Nothing (null in JSON, empty in CSV) or a value.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;
/// As in CSV; nothing is "". Doubles are written so that reading them gives the same number.
[[nodiscard]] std::string text_of(const Value& value);

struct SheetColumn {
  std::string key;    // in CSV and JSON
  std::string title;  // with the unit: "Time per document (µs)"
  bool is_number = true;
  bool is_dispensable = false;  // a terminal's line that has no room for it goes without
};

struct SheetCell {
  SheetCell() = default;
  SheetCell(std::string text) : value(std::move(text)) {}    // NOLINT: a text is a cell
  SheetCell(const char* text) : value(std::string(text)) {}  // NOLINT
  SheetCell(Value held) : value(std::move(held)) {}          // NOLINT

  Value value;
  std::string difference = {};  // "-43 %": to the baseline's, behind it in parentheses
  std::string marks = {};       // "~!": behind the value
  bool is_baseline = false;     // what the others are set against
};

struct SheetBlock {
  std::string title;
  std::vector<std::vector<SheetCell>> rows;  // as many cells as columns
};

/// What stands around a sheet, and where.
enum class SheetFrame : std::uint8_t {
  bare,      // LaTeX gives the tabular alone, what is above and below it as comments
  floating,  // a table environment with its caption above and notes in small print below
  captioned  // the same with what is below as the caption; text begins at the margin
};

struct Sheet {
  SheetFrame frame = SheetFrame::bare;
  std::vector<std::string> above = {};
  std::vector<SheetColumn> columns = {};
  std::vector<SheetBlock> blocks = {};
  /// What the blocks' titles are, for forms that have them in a column; LaTeX and text head the
  /// blocks with them.
  std::optional<SheetColumn> block_column = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> below = {};  // where it comes from
  /// Text: columns beyond a terminal's line stand below the others, these first ones again beside
  /// them, and each block has its own widths. 0: lines are as long as they are.
  std::size_t labels = 0;
  std::string latex_head = {};  // in place of the titles

  /// A row of the last block, or of the first one.
  void add(std::vector<SheetCell> row);
};

[[nodiscard]] std::string write_sheet(const Sheet& sheet, TableFormat format);
/// Titles and cells with tabs between them, as spreadsheets take them from the clipboard.
[[nodiscard]] std::string write_tabbed(const Sheet& sheet);

/// A contender and its window, "" for none.
struct LatexHead {
  std::string name, window;
};
/// Two lines of titles: names over neighbours that share them, the windows beneath. `label` and
/// `beneath` stand before them, in LaTeX.
[[nodiscard]] std::string latex_head(std::string_view label, std::string_view beneath,
                                     std::span<const LatexHead> heads);

/// Every character that means something to LaTeX, as itself, and the signs its fonts lack.
[[nodiscard]] std::string latex_escaped(std::string_view text);
/// For what is printed: of a path on this machine its last part alone, "--db runs.db".
[[nodiscard]] std::string without_folders(std::string_view text);

}  // namespace attnscope::report
