// SPDX-License-Identifier: Apache-2.0
#include "engine/report/sheet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/sentences.h"
#include "engine/report/html_page.h"
#include "engine/report/number_text.h"

namespace attnscope::report {
namespace {

constexpr std::array<TableFormatName, 6> formats{{
    {TableFormat::text, "text", "Text", "txt"},
    {TableFormat::markdown, "markdown", "Markdown", "md"},
    {TableFormat::csv, "csv", "CSV", "csv"},
    {TableFormat::latex, "latex", "LaTeX", "tex"},
    {TableFormat::json, "json", "JSON", "json"},
    {TableFormat::html, "html", "HTML page", "html"},
}};

constexpr std::size_t longest_cell = 300;  // bytes; names are user input

/// A cell's text for people, before escaping.
std::string cell_text(std::string_view text) {
  return in_a_sentence(one_line(std::string(text)), longest_cell);
}

/// A cell's text with its marks, and with its difference if the format has no separate style for
/// it; for people, before escaping.
std::string words_in(const SheetCell& cell) {
  std::string text = cell_text(text_of(cell.value));
  if (!cell.marks.empty()) text += " " + cell.marks;
  return cell.difference.empty() ? text : fmt::format("{} ({})", text, cell.difference);
}

// Text.

using Widths = std::vector<std::size_t>;

Widths widths_of(const Sheet& sheet, std::span<const SheetBlock> blocks) {
  Widths widths;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    std::size_t width = width_of(sheet.columns[i].title);
    for (const SheetBlock& block : blocks) {
      for (const auto& row : block.rows) width = std::max(width, width_of(words_in(row[i])));
    }
    widths.push_back(width);
  }
  return widths;
}

/// Splits a wide table into parts that fit the line width: the columns of each part, which begins
/// with the label columns.
std::vector<std::vector<std::size_t>> bands_of(const Sheet& sheet, const Widths& widths) {
  constexpr std::size_t between = 2;
  std::vector<std::vector<std::size_t>> bands;
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width + between;
  if (sheet.labels == 0) {
    std::vector<std::size_t> only;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (all <= line_width || !sheet.columns[i].is_dispensable) only.push_back(i);
    }
    return {only};
  }
  for (std::size_t next = sheet.labels; next < widths.size();) {
    std::vector<std::size_t>& band = bands.emplace_back();
    std::size_t width = 0;
    for (std::size_t i = 0; i < sheet.labels; ++i) {
      band.push_back(i);
      width += widths[i] + between;
    }
    const std::size_t first = next;
    while (next < widths.size() &&
           (next == first || width + widths[next] + between <= line_width)) {
      width += widths[next] + between;
      band.push_back(next++);
    }
  }
  return bands;
}

std::string lines_of(const Sheet& sheet, const SheetBlock& block, const Widths& widths) {
  std::string text;
  const auto add_line = [&](const std::vector<std::size_t>& band, auto&& words) {
    std::string line;
    for (const std::size_t i : band) {
      if (!line.empty() || sheet.frame != SheetFrame::captioned) line += "  ";
      line += padded(words(i), widths[i], !sheet.columns[i].is_number);
    }
    text += without_trailing_blanks(std::move(line)) + "\n";
  };
  for (const std::vector<std::size_t>& band : bands_of(sheet, widths)) {
    if (!text.empty()) text += "\n";
    add_line(band, [&](std::size_t i) { return sheet.columns[i].title; });
    for (const auto& row : block.rows) {
      add_line(band, [&](std::size_t i) { return words_in(row[i]); });
    }
  }
  return text;
}

/// Indents later lines to the beginning of the text, which follows the label in "A: ...".
std::string paragraph(std::string_view text) {
  const bool is_labelled = text.size() > 3 && text.substr(1, 2) == ": ";
  return wrapped(text, is_labelled ? "   " : "  ");
}

std::string as_text(const Sheet& sheet) {
  std::string text;
  for (const std::string& line : sheet.above) text += paragraph(line);
  const Widths shared = widths_of(sheet, sheet.blocks);
  const auto add_notes = [&](const std::vector<std::string>& notes) {
    for (const std::string& note : notes) text += wrapped("  " + one_line(note), "      ");
  };
  for (const SheetBlock& block : sheet.blocks) {
    if (!text.empty()) text += "\n";
    if (!block.title.empty()) text += wrapped(block.title, "  ");
    text +=
        lines_of(sheet, block, sheet.labels > 0 ? widths_of(sheet, std::span(&block, 1)) : shared);
  }
  add_notes(sheet.notes);
  if (!sheet.below.empty() && !text.empty()) text += "\n";
  for (const std::string& line : sheet.below) text += wrapped(line, "  ");
  return text;
}

// Markdown.

/// Escapes all markup: emphasis, tables, tags, entities, formulas, headings. Brackets alone are not
/// markup: a link needs `(`, `[` or `:` after the closing one.
std::string in_markdown(std::string_view text) {
  const std::string line = one_line(std::string(text));
  std::string escaped;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = std::string_view(line).substr(i);
    const bool ends_link = rest.size() > 1 && std::string_view("([:").find(rest[1]) != rest.npos;
    const bool begins_block =
        i == 0 && (std::string_view("#>=").find(line[0]) != rest.npos || rest.starts_with("- ") ||
                   rest.starts_with("+ ") || rest.starts_with("---"));
    if (std::string_view("|\\*_`<&~$").find(line[i]) != std::string_view::npos ||
        (line[i] == ']' && ends_link) || begins_block) {
      escaped.push_back('\\');
    }
    escaped.push_back(line[i]);
  }
  return escaped;
}

std::string as_markdown(const Sheet& sheet) {
  const bool is_floating = sheet.frame == SheetFrame::floating;
  const std::string_view left = is_floating ? ":--" : "---", right = is_floating ? "--:" : "---:";
  std::string text, rule = "|";
  for (const std::string& line : sheet.above) text += in_markdown(line) + "\n\n";
  text += "|";
  const auto add_head = [&](const SheetColumn& column) {
    text += fmt::format(" {} |", in_markdown(column.title));
    rule += fmt::format(" {} |", column.is_number ? right : left);
  };
  if (sheet.block_column) add_head(*sheet.block_column);
  std::ranges::for_each(sheet.columns, add_head);
  text += fmt::format("\n{}\n", rule);
  for (const SheetBlock& block : sheet.blocks) {
    for (const auto& row : block.rows) {
      text += "|";
      if (sheet.block_column) text += fmt::format(" {} |", in_markdown(block.title));
      for (const SheetCell& cell : row) text += fmt::format(" {} |", in_markdown(words_in(cell)));
      text += "\n";
    }
  }
  for (const auto* lines : {&sheet.notes, &sheet.below}) {
    for (const std::string& line : *lines) text += fmt::format("\n{}\n", in_markdown(line));
  }
  return text;
}

// LaTeX, with booktabs.

/// "e+05", "e-12"
bool is_exponent(std::string_view text, int& exponent) {
  if (text.size() < 3 || text.front() != 'e') return false;
  const char* begin = text.data() + (text[1] == '+' ? 2 : 1);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, exponent);
  return error == std::errc() && rest == end;
}

/// Typesets the sign of a number as a minus, a percentage with its unit, and an exponent as a power
/// of ten.
std::string number_in_latex(std::string_view text) {
  constexpr std::string_view digits = "0123456789.";
  const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const std::size_t end = std::min(text.find_first_not_of(digits, sign), text.size());
  const std::string_view mantissa = text.substr(0, end), rest = text.substr(end);
  if (end > sign && rest.starts_with(" %") && sign > 0)
    return fmt::format("${}\\,\\%${}", mantissa, latex_escaped(rest.substr(2)));
  if (int exponent = 0; end > sign && is_exponent(rest, exponent))
    return fmt::format("${} \\cdot 10^{{{}}}$", mantissa, exponent);
  if (text.starts_with('-') && text.size() > 1)
    return fmt::format("$-${}", latex_escaped(text.substr(1)));
  return latex_escaped(text);
}

/// Abbreviations for narrow columns, such as a difference that is not shown.
struct Abbreviation {
  std::string_view full, brief;
};
constexpr std::array<Abbreviation, 2> abbreviations{
    {{"no difference shown", "n.d."}, {interval_too_wide, "t.w."}}};

const Abbreviation* abbreviation_of(std::string_view full) {
  const auto* const found = std::ranges::find(abbreviations, full, &Abbreviation::full);
  return found == abbreviations.end() ? nullptr : found;
}

std::string in_latex(const SheetCell& cell, bool is_number) {
  const std::string words = cell_text(text_of(cell.value));
  std::string text = is_number ? number_in_latex(words) : latex_escaped(words);
  if (cell.is_baseline) text = fmt::format("\\underline{{{}}}", text);
  if (!cell.marks.empty()) text += fmt::format("$^{{\\textrm{{{}}}}}$", latex_escaped(cell.marks));
  if (cell.difference.empty()) return text;
  const std::string_view difference(cell.difference);
  if (const Abbreviation* brief = abbreviation_of(difference))
    return fmt::format("{} ({})", text, brief->brief);
  if (!difference.ends_with(" %")) return fmt::format("{} ({})", text, latex_escaped(difference));
  return fmt::format("{} $({}\\,\\%)$", text, difference.substr(0, difference.find(" %")));
}

/// The meaning of the abbreviations in the sheet's cells.
std::vector<std::string> legend_of(const Sheet& sheet) {
  std::vector<std::string> legend;
  for (const Abbreviation& word : abbreviations) {
    const bool is_used = std::ranges::any_of(sheet.blocks, [&](const SheetBlock& block) {
      return std::ranges::any_of(block.rows, [&](const std::vector<SheetCell>& row) {
        return std::ranges::find(row, word.full, &SheetCell::difference) != row.end();
      });
    });
    if (is_used) legend.push_back(fmt::format("{}: {}", word.brief, word.full));
  }
  return legend;
}

std::string tabular(const Sheet& sheet) {
  const bool is_bare = sheet.frame == SheetFrame::bare;
  std::string text = is_bare ? "\\begin{tabular}{@{}" : "\\begin{tabular}{";
  for (const SheetColumn& column : sheet.columns) text += column.is_number ? 'r' : 'l';
  text += is_bare ? "@{}}\n\\toprule\n" : "}\n\\toprule\n";
  if (sheet.latex_head.empty()) {
    std::vector<std::string> titles;
    for (const SheetColumn& column : sheet.columns) titles.push_back(latex_escaped(column.title));
    text += fmt::format("{} \\\\\n", fmt::join(titles, " & "));
  }
  text += sheet.latex_head;
  for (const SheetBlock& block : sheet.blocks) {
    text += "\\midrule\n";
    if (!block.title.empty()) {
      text += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", sheet.columns.size(),
                          latex_escaped(cell_text(block.title)));
    }
    for (const auto& row : block.rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string cell = in_latex(row[i], sheet.columns[i].is_number);
        // The end of the previous line (\\) would take a bracket or a star as its argument.
        const bool is_taken = i == 0 && (cell.starts_with('[') || cell.starts_with('*'));
        text += (i > 0 ? " & " : is_taken ? "{}" : "") + cell;
      }
      text += " \\\\\n";
    }
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string escaped_together(const std::vector<std::string>& lines, std::string_view between) {
  std::vector<std::string> escaped;
  escaped.reserve(lines.size());
  for (const std::string& line : lines) escaped.push_back(latex_escaped(without_folders(line)));
  return fmt::format("{}", fmt::join(escaped, between));
}

/// A label from the run and the table's contents: two tables of one paper get different labels, and
/// the same table written again keeps its label.
std::string label_of(const Sheet& sheet) {
  std::uint32_t sum = 2166136261;  // FNV-1a
  const auto add = [&sum](std::string_view text) {
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619;
  };
  for (const auto& lines : {sheet.above, sheet.below}) {
    for (const std::string& line : lines) add(line);
  }
  for (const SheetColumn& column : sheet.columns) add(column.title);
  for (const SheetBlock& block : sheet.blocks) add(block.title);
  return fmt::format("tab:attnscope-{:08x}", sum);
}

std::string as_latex(const Sheet& sheet) {
  if (sheet.frame == SheetFrame::bare) {
    std::string text;
    for (const std::string& line : sheet.above) text += fmt::format("% {}\n", one_line(line));
    text += tabular(sheet);
    for (const std::string& note : sheet.notes) text += fmt::format("\n{}\n", latex_escaped(note));
    for (const std::string& line : sheet.below) text += fmt::format("% {}\n", one_line(line));
    return text;
  }
  if (sheet.frame == SheetFrame::captioned) {
    return fmt::format("\\begin{{table}}\n\\centering\n{}\\caption{{{}}}\n\\end{{table}}\n",
                       tabular(sheet), escaped_together(sheet.below, " "));
  }
  std::string text = fmt::format(
      "% needs \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n"
      "\\label{{{}}}\n{}\\par\\smallskip\n{{\\footnotesize\n",
      escaped_together(sheet.above, " "), label_of(sheet), tabular(sheet));
  for (const auto& notes : {legend_of(sheet), sheet.notes}) {
    for (const std::string& note : notes) text += latex_escaped(note) + "\\par\n";
  }
  return text + escaped_together(sheet.below, "\\par\n") + "\\par}\n\\end{table}\n";
}

// HTML.

std::string_view kind_of(const SheetColumn& column) {
  // A column without a title contains marks.
  return column.is_number ? "number" : column.title.empty() ? "mark" : "text";
}

std::string sheet_page(const Sheet& sheet) {
  return html_page(
      sheet.above.empty() ? "AttnScope" : sheet.above.front(),
      fmt::format("{}{}{}<footer>\n{}</footer>\n", html_paragraphs(sheet.above), html_table(sheet),
                  html_paragraphs(sheet.notes), html_paragraphs(sheet.below)),
      {.styles = {resource("page.css")}, .script = {}});
}

// CSV (RFC 4180) and JSON.

/// Whether a spreadsheet would evaluate the text as a formula; signed numbers, "-43 %", are
/// allowed.
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos)
    return false;
  const bool is_signed = text[0] == '-' || text[0] == '+';
  return !is_signed || text.find_first_not_of("0123456789. %", 1) != std::string_view::npos;
}

std::string in_csv(const Value& value) {
  std::string text = text_of(value);
  // An apostrophe marks text in spreadsheets.
  if (std::holds_alternative<std::string>(value) && is_formula(text)) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

/// Calls `add_line` with `text_of_column` of every column, then with the values of every row, which
/// the block's title precedes if the sheet has a column for it.
void for_each_line(const Sheet& sheet, auto&& add_line, auto&& text_of_column) {
  std::vector<Value> texts;
  if (sheet.block_column) texts.emplace_back(text_of_column(*sheet.block_column));
  for (const SheetColumn& column : sheet.columns) texts.emplace_back(text_of_column(column));
  add_line(texts);
  for (const SheetBlock& block : sheet.blocks) {
    for (const auto& row : block.rows) {
      texts.clear();
      if (sheet.block_column) texts.emplace_back(block.title);
      for (const SheetCell& cell : row) texts.emplace_back(cell.value);
      add_line(texts);
    }
  }
}

std::string as_csv(const Sheet& sheet) {
  std::string text;
  const auto add_line = [&](const std::vector<Value>& values) {
    std::vector<std::string> fields;
    std::ranges::transform(values, std::back_inserter(fields), in_csv);
    text += fmt::format("{}\r\n", fmt::join(fields, ","));
  };
  for_each_line(sheet, add_line, [](const SheetColumn& column) { return column.key; });
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

std::string as_json(const Sheet& sheet) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const SheetBlock& block : sheet.blocks) {
    for (const auto& row : block.rows) {
      ordered_json& object = rows.emplace_back(ordered_json::object());
      if (sheet.block_column) object[sheet.block_column->key] = block.title;
      for (std::size_t i = 0; i < row.size(); ++i)
        object[sheet.columns[i].key] = json_of(row[i].value);
    }
  }
  // Names are user input: bytes that are not UTF-8 are replaced.
  return rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::span<const TableFormatName> table_formats() {
  return formats;
}

const TableFormatName& name_of(TableFormat format) {
  const auto found = std::ranges::find(formats, format, &TableFormatName::format);
  assert(found != formats.end());
  return *found;
}

Result<TableFormat> parse_table_format(std::string_view text) {
  const auto found = std::ranges::find(formats, text, &TableFormatName::name);
  if (found != formats.end()) return found->format;
  std::array<std::string_view, formats.size()> names;
  std::ranges::transform(formats, names.begin(), &TableFormatName::name);
  return fail("--format: there is no table format '{}'; {}", in_a_sentence(text),
              suggest(in_a_sentence(text), names));
}

std::string table_format_words() {
  std::string words(formats.front().name);
  for (std::size_t i = 1; i < formats.size(); ++i) {
    words.append(i + 1 < formats.size() ? ", " : " or ").append(formats[i].name);
  }
  return words;
}

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return "";
        } else {
          return fmt::format("{}", held);  // shortest exact text, without a locale
        }
      },
      value);
}

Value nine_digits(std::optional<double> value) {
  return value && std::isfinite(*value) ? Value(fmt::format("{:.9g}", *value)) : Value();
}

void Sheet::add(std::vector<SheetCell> row) {
  if (blocks.empty()) blocks.emplace_back();
  blocks.back().rows.push_back(std::move(row));
}

std::string write_sheet(const Sheet& sheet, TableFormat format) {
  switch (format) {
    case TableFormat::text:
      return as_text(sheet);
    case TableFormat::markdown:
      return as_markdown(sheet);
    case TableFormat::csv:
      return as_csv(sheet);
    case TableFormat::latex:
      return as_latex(sheet);
    case TableFormat::html:
      return sheet_page(sheet);
    case TableFormat::json:
      break;
  }
  return as_json(sheet);
}

std::string html_table(const Sheet& sheet) {
  std::string text = "<div class=\"scroll\">\n<table>\n<thead>\n<tr>";
  for (const SheetColumn& column : sheet.columns) {
    text += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", kind_of(column),
                        html_escaped(column.title));
  }
  text += "</tr>\n</thead>\n";
  for (const SheetBlock& block : sheet.blocks) {
    text += "<tbody>\n";
    if (!block.title.empty()) {
      text += fmt::format("<tr><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                          sheet.columns.size(), html_escaped(block.title));
    }
    for (const auto& row : block.rows) {
      text += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) {
        text += fmt::format("<td class=\"{}{}\">{}</td>", kind_of(sheet.columns[i]),
                            row[i].is_baseline ? " baseline" : "", html_escaped(words_in(row[i])));
      }
      text += "</tr>\n";
    }
    text += "</tbody>\n";
  }
  return text + "</table>\n</div>\n";
}

std::string write_tabbed(const Sheet& sheet) {
  std::string text;
  const auto add_line = [&](const std::vector<Value>& values) {
    std::vector<std::string> fields;
    std::ranges::transform(values, std::back_inserter(fields),
                           [](const Value& value) { return cell_text(text_of(value)); });
    text += fmt::format("{}\n", fmt::join(fields, "\t"));
  };
  for_each_line(sheet, add_line, [](const SheetColumn& column) { return column.title; });
  return text;
}

std::string latex_head(std::string_view label, std::string_view beneath,
                       std::span<const LatexHead> heads) {
  std::string names(label), windows = fmt::format("{}$w =$", beneath);
  for (std::size_t i = 0; i < heads.size();) {
    std::size_t end = i;
    for (; end < heads.size() && heads[end].name == heads[i].name; ++end) {
      const std::string& window = heads[end].window;
      windows += window.empty() ? " & --" : window == "inf" ? " & $\\infty$" : " & " + window;
    }
    names +=
        fmt::format(" & \\multicolumn{{{}}}{{c}}{{{}}}", end - i, latex_escaped(heads[i].name));
    i = end;
  }
  return fmt::format("{} \\\\\n{} \\\\\n", names, windows);
}

std::string without_folders(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    // A word of a command line, possibly quoted.
    const bool is_quoted = text.front() == '\'';
    const std::size_t closing = is_quoted ? text.find('\'', 1) : std::string_view::npos;
    std::size_t end =
        closing == std::string_view::npos ? text.find_first_of(" ;,()=") : closing + 1;
    end = std::min(std::max<std::size_t>(end, 1), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const std::string_view bare = is_quoted ? word.substr(1) : word;
    const std::size_t last = word.rfind('/');
    // "sparse/segment/4" is a contender; words that begin with a root, home or folder are paths.
    const bool is_path = last != std::string_view::npos && last + 1 < word.size() &&
                         (bare.starts_with('/') || bare.starts_with("~/") ||
                          bare.starts_with("./") || bare.starts_with("../"));
    if (is_path && is_quoted) kept += '\'';
    kept += is_path ? word.substr(last + 1) : word;
  }
  return kept;
}

namespace {

/// The length of "w = 4" at the beginning of the text; 0 if the text does not begin with it.
std::size_t length_of_window(std::string_view text) {
  constexpr std::string_view sign = "w = ", infinite = "∞";
  if (!text.starts_with(sign)) return 0;
  const std::string_view number = text.substr(sign.size());
  if (number.starts_with(infinite)) return sign.size() + infinite.size();
  const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
  return digits == 0 ? 0 : sign.size() + digits;
}

bool is_in_a_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

}  // namespace

std::string latex_escaped(std::string_view text) {
  // Signs that LaTeX's own fonts lack.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> signs{
      {{"µ", "$\\mu$"}, {"∞", "$\\infty$"}, {"≈", "$\\approx$"}, {"×", "$\\times$"}, {"–", "--"}}};
  const std::string line = one_line(std::string(text));
  text = line;
  std::string result;
  char before = ' ';
  while (!text.empty()) {
    // Window formulas, and the minus of a number, are set in math mode.
    const std::size_t window = is_in_a_word(before) ? 0 : length_of_window(text);
    if (window > 0) {
      std::string formula(text.substr(0, window));
      if (formula.ends_with("∞")) formula.replace(formula.find("∞"), 3, "\\infty");
      result += fmt::format("${}$", formula);
      before = '$';
      text.remove_prefix(window);
      continue;
    }
    const bool is_minus = text.front() == '-' && text.size() > 1 && text[1] >= '0' &&
                          text[1] <= '9' && (before == ' ' || before == '(' || before == '/');
    if (is_minus) {
      result += "$-$";
      before = '$';
      text.remove_prefix(1);
      continue;
    }
    before = text.front();
    const auto sign = std::ranges::find_if(
        signs, [&](const auto& entry) { return text.starts_with(entry.first); });
    if (sign != signs.end()) {
      result += sign->second;
      text.remove_prefix(sign->first.size());
      continue;
    }
    const char c = text.front();
    text.remove_prefix(1);
    switch (c) {
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '`':
        result += result.ends_with('?') || result.ends_with('!') ? "{}`" : "`";  // avoids a
                                                                                 // ligature
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '|':
        result += "\\textbar{}";
        break;
      case '-':  // two in a row would become a dash
        result += result.ends_with('-') ? "{}-" : "-";
        break;
      case '{':
      case '}':
      case '$':
      case '&':
      case '#':
      case '_':
      case '%':
        result += '\\';
        result += c;
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace attnscope::report
