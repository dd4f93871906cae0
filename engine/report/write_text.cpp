// SPDX-License-Identifier: Apache-2.0
//
// The forms that people read as they are: a terminal's columns and Markdown. One block for each
// length; a column that no row fills is left out.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/report/axes_in_words.h"
#include "engine/report/conditions.h"
#include "engine/report/number_text.h"
#include "engine/report/row_values.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

std::string joined(const char* separator, const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  return a + separator + b;
}

/// Both ends of an interval relative to a value, in percent: "-0.4/+0.5 %".
std::string ends_in_percent(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high) || low == high) return {};
  return fmt::format("{:+.1f}/{:+.1f} %", (low - 1) * 100, (high - 1) * 100);
}

struct Field {
  std::string_view title;
  bool left;
  std::string (*text)(const Row& row);
};

std::string time_or_status(const Row& row) {
  return is_measured(row) ? format_time(row.cell.summary.median_ns / documents_of(row))
                          : outcome_of(row).status;
}

std::string ratio_in_words(const Row& row) {
  return row.ratio ? format_relative(row.ratio->ratio) : std::string();
}

std::string ratio_interval(const Row& row) {
  return row.ratio ? ends_in_percent(row.ratio->low, row.ratio->high) : std::string();
}

std::string time_interval(const Row& row) {
  const statistics::Summary& time = row.cell.summary;
  if (!is_measured(row) || !(time.median_ns > 0)) return {};
  return ends_in_percent(time.low_ns / time.median_ns, time.high_ns / time.median_ns);
}

std::string verdict(const Row& row) {
  // The baseline's own row has the ratio 1 without any width: there is nothing to judge.
  if (!row.ratio || (row.ratio->low == 1 && row.ratio->high == 1)) return {};
  const bool shown = row.ratio->verdict != statistics::Verdict::no_difference_shown;
  std::string text(shown ? name_of(row.ratio->verdict) : "none shown");
  return row.ratio->paired ? text : text.append(" (unpaired)");
}

constexpr std::array<Field, 14> fields{{
    {"contender", true, [](const Row& r) { return r.cell.cell.contender.name; }},
    {"batch", false,
     [](const Row& r) {
       return r.cell.cell.batch > 1 ? fmt::format("{}", r.cell.cell.batch) : std::string();
     }},
    {"time/doc", false, time_or_status},
    {"95 %", false, time_interval},
    {"", true, marks_of},
    {"mem/doc", false,
     [](const Row& r) {
       return is_measured(r) ? format_bytes(static_cast<double>(peak_bytes(r.cell.cell.memory)) /
                                            documents_of(r))
                             : std::string();
     }},
    {"of limit", false,
     [](const Row& r) {
       return r.share_of_limit ? fmt::format("{} %", three_digits(100 * *r.share_of_limit))
                               : std::string();
     }},
    {"executed", false,
     [](const Row& r) {
       const std::optional<double> ratio = executed_ratio(r);
       return ratio ? format_times(*ratio) : std::string();
     }},
    {"vs base", false, ratio_in_words},
    {"95 % of it", false, ratio_interval},
    {"difference", true, verdict},
    {"per 1k tokens", false,
     [](const Row& r) {
       const auto tokens = static_cast<double>(r.cell.point.sequence_tokens);
       return r.growth ? format_time(r.cell.summary.median_ns / items_of(r) / tokens * 1000)
                       : std::string();
     }},
    {"growth", false,
     [](const Row& r) { return r.growth ? format_relative(r.growth->ratio) : std::string(); }},
    {"95 % of growth", false,
     [](const Row& r) {
       return r.growth ? ends_in_percent(r.growth->low, r.growth->high) : std::string();
     }},
}};

struct Line {
  const Row* row;
  std::array<std::string, fields.size()> text;
};

constexpr std::size_t batch_field = 1;
constexpr std::size_t executed_field = 7;
static_assert(fields[batch_field].title == "batch" && fields[executed_field].title == "executed");

/// A block's rows, with their words.
struct Block {
  std::string head;
  std::span<Line> lines;
};

/// Blocks of one point each. A batch that all rows share stands in the block's head alone.
std::vector<Block> blocks_of(std::vector<Line>& lines, const std::vector<bool>& varying) {
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < lines.size();) {
    const StoredCell& first = lines[begin].row->cell;
    std::size_t end = begin;
    while (end < lines.size() && lines[end].row->cell.point == first.point) ++end;
    Block block{words_of(first.point, varying, true), std::span(lines).subspan(begin, end - begin)};
    const auto batch_of = [](const Line& line) { return line.row->cell.cell.batch; };
    const bool shared = std::ranges::all_of(block.lines, [&](const Line& line) {
      return batch_of(line) == first.cell.batch || !is_measured(*line.row);
    });
    if (shared) {
      if (first.cell.batch > 0) block.head += fmt::format(", batch {}", first.cell.batch);
      for (Line& line : block.lines) line.text[batch_field].clear();
    }
    blocks.push_back(std::move(block));
    begin = end;
  }
  return blocks;
}

std::vector<Line> lines_of(const Table& table) {
  std::vector<Line> lines;
  for (const Row& row : table.rows) {
    Line& line = lines.emplace_back(Line{&row, {}});
    for (std::size_t f = 0; f < fields.size(); ++f) line.text[f] = fields[f].text(row);
  }
  // A column in which everybody executes what is useful and no more tells nothing.
  const bool tells = std::ranges::any_of(lines, [](const Line& line) {
    const std::string& text = line.text[executed_field];
    return !text.empty() && text != format_times(1);
  });
  if (!tells) {
    for (Line& line : lines) line.text[executed_field].clear();
  }
  return lines;
}

/// Widths in columns; 0 for a field that no row fills.
std::array<std::size_t, fields.size()> widths_of(const std::vector<Line>& lines) {
  std::array<std::size_t, fields.size()> widths{};
  for (std::size_t f = 0; f < fields.size(); ++f) {
    for (const Line& line : lines) widths[f] = std::max(widths[f], width_of(line.text[f]));
    if (widths[f] > 0) widths[f] = std::max(widths[f], width_of(fields[f].title));
  }
  return widths;
}

/// The terminal's: executed work stands where the line has room for it, which it may not have
/// against a baseline; Markdown and CSV always have it.
std::array<std::size_t, fields.size()> widths_within_line(const std::vector<Line>& lines) {
  auto widths = widths_of(lines);
  std::size_t line = 0;
  for (const std::size_t width : widths) line += width > 0 ? width + 2 : 0;
  if (line > line_width) widths[executed_field] = 0;
  return widths;
}

std::string flat(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  return text;
}

/// Why rows of a block have no time, below it: each reason once, after those whom it holds.
std::string reasons(std::span<const Line> block) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const Line& line : block) {
    const Outcome outcome = outcome_of(*line.row);
    if (is_measured(*line.row) || outcome.reason.empty()) continue;
    const std::string sentence = fmt::format("{}: {}", outcome.status, outcome.reason);
    auto known = std::ranges::find(found, sentence, [](const auto& one) { return one.first; });
    if (known == found.end()) known = found.insert(found.end(), {sentence, {}});
    known->second.push_back(line.row->cell.cell.contender.name);
  }
  std::string text;
  for (const auto& [sentence, names] : found) {
    const bool all = names.size() == block.size() && names.size() > 1;
    const std::string who =
        all ? fmt::format("all {}", names.size()) : fmt::format("{}", fmt::join(names, "; "));
    text += wrapped(flat(fmt::format("  {}: {}", who, sentence)), "      ");
  }
  return text;
}

/// What has to be known beside a row's numbers, below its block.
std::string notes(std::span<const Line> block) {
  std::string text;
  for (const Line& line : block) {
    for (const std::string& note : notes_on(*line.row)) {
      text += wrapped(flat(fmt::format("  {}: {}", line.row->cell.cell.contender.name, note)),
                      "      ");
    }
  }
  return text;
}

/// Markdown's last column: why a row has no time, or the notes on it.
std::string remark_of(const Row& row) {
  return is_measured(row) ? fmt::format("{}", fmt::join(notes_on(row), "; "))
                          : outcome_of(row).reason;
}

std::string markdown_field(std::string_view text) {
  std::string escaped;
  for (const char c : flat(std::string(text))) {
    if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '`' || c == '<')
      escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

/// What the relative columns are relative to.
std::string relations_line(const Table& table) {
  return joined("; ", table.baseline ? fmt::format("base: {}, per document", *table.baseline) : "",
                table.has_growth ? "growth: time per token against the shortest length" : "");
}

}  // namespace

Outcome outcome_of(const Row& row) {
  if (row.cell.damaged) {
    return {std::string(damaged_status), "its stored values do not match their fingerprint"};
  }
  if (row.cell.cell.status == CellStatus::ok && row.cell.summary.samples == 0) {
    return {"no samples", "it was found right but not timed"};
  }
  return {std::string(name_of(row.cell.cell.status)), row.cell.cell.reason};
}

std::string write_text(const Table& table) {
  if (table.rows.empty()) {
    return wrapped(provenance_line(table.run), "  ") + "No heat of this run is finished yet.\n";
  }
  std::vector<bool> varying = varying_axes(table.rows);
  varying[length_axis] = true;
  std::vector<Line> lines = lines_of(table);
  const std::vector<Block> blocks = blocks_of(lines, varying);
  const auto widths = widths_within_line(lines);
  std::string text = wrapped(
      joined("; ", words_of(table.rows.front().cell.point, varying, false), relations_line(table)),
      "  ");
  for (const Block& block : blocks) {
    text.append("\n").append(wrapped(block.head, "  "));
    std::string head;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (widths[f] == 0) continue;
      head.append("  ").append(padded(fields[f].title, widths[f], fields[f].left));
    }
    text += without_trailing_blanks(head) + "\n";
    for (const Line& line : block.lines) {
      std::string row;
      for (std::size_t f = 0; f < fields.size(); ++f) {
        if (widths[f] == 0) continue;
        row.append("  ").append(padded(flat(line.text[f]), widths[f], fields[f].left));
      }
      text += without_trailing_blanks(row) + "\n";
    }
    text += reasons(block.lines) + notes(block.lines);
  }
  return text + "\n" + wrapped(provenance_line(table.run), "  ");
}

std::string write_markdown(const Table& table) {
  std::vector<bool> varying = varying_axes(table.rows);
  varying[length_axis] = true;
  std::vector<Line> lines = lines_of(table);
  const std::vector<Block> blocks = blocks_of(lines, varying);
  const auto widths = widths_of(lines);
  std::string text, head = "| setting |", rule = "| :-- |";
  if (!table.rows.empty()) {
    text = markdown_field(joined("; ", words_of(table.rows.front().cell.point, varying, false),
                                 relations_line(table))) +
           "\n\n";
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (widths[f] == 0) continue;
    head += fmt::format(" {} |", fields[f].title);
    rule += fields[f].left ? " :-- |" : " --: |";
  }
  const bool any_reason = std::ranges::any_of(lines, [](const Line& line) {
    return !is_measured(*line.row) || !remark_of(*line.row).empty();
  });
  if (any_reason) {
    head += " reason |";
    rule += " :-- |";
  }
  text += head + "\n" + rule + "\n";
  for (const Block& block : blocks) {
    for (const Line& line : block.lines) {
      text += fmt::format("| {} |", markdown_field(block.head));
      for (std::size_t f = 0; f < fields.size(); ++f) {
        if (widths[f] > 0) text += fmt::format(" {} |", markdown_field(line.text[f]));
      }
      text += any_reason ? fmt::format(" {} |\n", markdown_field(remark_of(*line.row))) : "\n";
    }
  }
  return text + "\n" + markdown_field(provenance_line(table.run)) + "\n";
}

}  // namespace attnscope::report
