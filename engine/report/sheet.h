#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A table and its output formats. Every table of the program is built as a Sheet; each format has
// one writer here, which does all escaping of texts.
//
//   Sheet sheet{.above = {"A title"}, .columns = {{"length", "Length"}, {"ms", "Time (ms)"}}};
//   sheet.add({"512 tokens", "2.41"});
//   print(write_sheet(sheet, TableFormat::markdown));

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace attnscope::report {

enum class TableFormat : std::uint8_t { text, markdown, csv, latex, json, html };

/// The names of a format on the command line, in a menu and as a file extension.
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
/// Whether a format is for programs: CSV and JSON have plain numbers under keys, not texts under
/// titles.
[[nodiscard]] constexpr bool is_for_programs(TableFormat format) {
  return format == TableFormat::csv || format == TableFormat::json;
}

/// A value, or none (null in JSON, empty in CSV).
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;
/// The text in CSV; "" for no value. Doubles are written so that they round-trip exactly.
[[nodiscard]] std::string text_of(const Value& value);

/// The number with nine significant digits; none if it is not finite.
[[nodiscard]] Value nine_digits(std::optional<double> value);

struct SheetColumn {
  std::string key;    // in CSV and JSON
  std::string title;  // with the unit: "Time per document (µs)"
  bool is_number = true;
  bool is_dispensable = false;  // omitted if a terminal line is too short for it
};

struct SheetCell {
  SheetCell() = default;
  SheetCell(std::string text) : value(std::move(text)) {}    // NOLINT: a text is a cell
  SheetCell(const char* text) : value(std::string(text)) {}  // NOLINT
  SheetCell(Value number) : value(std::move(number)) {}      // NOLINT

  Value value;
  std::string difference = {};  // "-43 %": relative to the baseline, in parentheses after the value
  std::string marks = {};       // "~!": after the value
  bool is_baseline = false;     // the cell that others are compared with
};

struct SheetBlock {
  std::string title;
  std::vector<std::vector<SheetCell>> rows;  // one cell per column
};

/// The text around a sheet, and its position.
enum class SheetFrame : std::uint8_t {
  bare,      // LaTeX has only the tabular, with the texts above and below as comments
  floating,  // a table environment with its caption above and notes in small print below
  captioned  // like floating, with the text below as the caption; text begins at the margin
};

struct Sheet {
  SheetFrame frame = SheetFrame::bare;
  std::vector<std::string> above = {};
  std::vector<SheetColumn> columns = {};
  std::vector<SheetBlock> blocks = {};
  /// The column of the blocks' titles, for formats that have them in a column; LaTeX and text print
  /// them as headings of the blocks.
  std::optional<SheetColumn> block_column = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> below = {};  // the source of the data
  /// For text: columns that exceed the terminal's width continue below, with the first `labels`
  /// columns repeated, and each block has its own widths. 0: lines are not split.
  std::size_t labels = 0;
  std::string latex_head = {};  // replaces the titles

  /// Adds a row to the last block, or to a first one.
  void add(std::vector<SheetCell> row);
};

[[nodiscard]] std::string write_sheet(const Sheet& sheet, TableFormat format);
/// Only the columns and blocks of the sheet, in a box that scrolls if the page is narrower: a part
/// of an HTML page (html_page.h).
[[nodiscard]] std::string html_table(const Sheet& sheet);
/// Titles and cells separated by tabs, as spreadsheets paste them from the clipboard.
[[nodiscard]] std::string write_tabbed(const Sheet& sheet);

/// A contender and its window, "" for none.
struct LatexHead {
  std::string name, window;
};
/// Two lines of titles: each name spans the neighbours that share it, with the windows beneath.
/// `label` and `beneath` precede them and are LaTeX.
[[nodiscard]] std::string latex_head(std::string_view label, std::string_view beneath,
                                     std::span<const LatexHead> heads);

/// Escapes all LaTeX special characters, and replaces signs that its fonts lack.
[[nodiscard]] std::string latex_escaped(std::string_view text);
/// For printed output: reduces local paths to their last component, "--db runs.db".
[[nodiscard]] std::string without_folders(std::string_view text);

}  // namespace attnscope::report
