// SPDX-License-Identifier: Apache-2.0
//
// Reads the formats of a table back, cell by cell: all have the same verdicts. That CSV equals JSON
// is tested in formats_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/report/compare.h"
#include "engine/report/number_text.h"
#include "engine/report/pivot.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using statistics::Ratio;
using statistics::Verdict;

/// The words of each cell by its contender's name and length: "-50 %", "baseline", "oom", "".
using Stated = std::map<std::pair<std::string, std::string>, std::string>;

Table varied_table(MeasuredRun& run) {
  HeatResult alone = MeasuredRun::heat_at(512);
  alone.cells[0].samples.clear();
  alone.cells[0].status = CellStatus::oom;
  alone.cells[0].reason = "no room";
  run.add(alone);
  Table table = run.table("full/dense");
  const auto set = [&](std::size_t row, const Ratio& ratio) { table.rows[row].ratio = ratio; };
  set(1, {.ratio = 0.5, .low = 0.45, .high = 0.55, .verdict = Verdict::faster});
  set(2, {.ratio = 2, .low = 1.8, .high = 2.2, .paired = true, .verdict = Verdict::slower});
  set(3, {.ratio = 0.32, .low = 0.3, .high = 1.1, .paired = true});
  set(5, {.ratio = 63, .low = 0.2, .high = 1200, .paired = true});
  set(6, {.ratio = 63, .low = 2, .high = 1200, .paired = true, .verdict = Verdict::slower});
  table.rows[9].cell.damaged = true;
  table.rows[3].drift = {.change = 0.05, .is_flagged = true};
  table.rows[3].cell.outliers.assign(6, true);
  return table;
}

Stated expected_of(const Table& table) {
  Stated stated;
  for (const Row& row : table.rows) {
    const std::string tokens = std::to_string(row.cell.point.sequence_tokens);
    stated[{row.cell.cell.contender.name, tokens}] =
        is_measured(row) ? against_baseline(row) : outcome_of(row).status;
  }
  return stated;
}

std::string in_words(const std::string& status, const Ratio* ratio, bool is_baseline) {
  if (status != "ok") return status;
  if (ratio == nullptr) return "";
  return is_baseline ? "baseline" : difference_in_words(*ratio);
}

std::vector<std::string> split(std::string text, const std::string& between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; (at = text.find(between)) != std::string::npos;) {
    parts.push_back(text.substr(0, at));
    text.erase(0, at + between.size());
  }
  parts.push_back(text);
  return parts;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::string tokens_in(const std::string& text) {
  return text.substr(0, text.find_first_not_of("0123456789"));
}

Verdict verdict_named(const std::string& word) {
  for (const Verdict verdict : {Verdict::faster, Verdict::slower})
    if (name_of(verdict) == word) return verdict;
  return Verdict::no_difference_shown;
}

Stated read_json(const std::string& text) {
  Stated stated;
  for (const json& row : json::parse(text)) {
    std::optional<Ratio> ratio;
    if (row["ratio"].is_number()) {
      ratio = Ratio{.ratio = row["ratio"],
                    .low = row["ratio_low"],
                    .high = row["ratio_high"],
                    .verdict = verdict_named(row["verdict"])};
    }
    stated[{row["name"], std::to_string(row["sequence_tokens"].get<int>())}] =
        in_words(row["status"], ratio ? &*ratio : nullptr, row["contender"] == "full/dense");
  }
  return stated;
}

/// The field under "vs base" of a row with a time, or else the field under "time/doc".
std::string of_columns(const std::vector<std::string>& titles,
                       const std::vector<std::string>& cells) {
  const auto under = [&](const std::string& title) {
    return trimmed(
        cells.at(static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin())));
  };
  const std::string time = under("time/doc");
  return time.find("s") != std::string::npos && time.find(' ') != std::string::npos
             ? under("vs base")
             : time;
}

Stated read_markdown(const std::string& text) {
  Stated stated;
  std::vector<std::string> titles;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("| ") || line.starts_with("| :") || line.starts_with("| -")) continue;
    std::vector<std::string> cells = split(line.substr(2), " |");
    for (std::string& cell : cells) cell = trimmed(cell);
    if (titles.empty()) {
      titles = cells;
    } else {
      stated[{cells[1], tokens_in(cells[0])}] = of_columns(titles, cells);
    }
  }
  return stated;
}

Stated read_html(const std::string& text) {
  Stated stated;
  std::vector<std::string> titles;
  std::string tokens;
  const std::regex cell(R"re(<t[dh] (?:scope="col" )?class="[^"]*">([^<]*)</t[dh]>)re");
  const std::regex group(R"re(<th scope="rowgroup"[^>]*>([^<]*)</th>)re");
  for (const std::string& line : lines_of(text)) {
    if (std::smatch found; std::regex_search(line, found, group)) tokens = tokens_in(found[1]);
    std::vector<std::string> cells;
    for (std::sregex_iterator at(line.begin(), line.end(), cell), end; at != end; ++at)
      cells.push_back((*at)[1]);
    if (cells.empty()) continue;
    if (titles.empty()) {
      titles = cells;
    } else {
      stated[{cells[0], tokens}] = of_columns(titles, cells);
    }
  }
  return stated;
}

/// Numbers are aligned with the ends of their titles.
Stated read_text(const std::string& text, const Stated& cells) {
  Stated stated;
  std::string head, tokens;
  for (const std::string& raw : lines_of(text)) {
    const std::string line = std::regex_replace(raw, std::regex("µ"), "u");
    if (std::isdigit(static_cast<unsigned char>(line.empty() ? ' ' : line[0])) != 0)
      tokens = tokens_in(line);
    if (line.starts_with("  contender ")) head = line;
    for (const auto& [key, words] : cells) {
      const std::string name = "  " + key.first + "  ";
      if (key.second != tokens || !line.starts_with(name)) continue;
      const auto under = [&](const std::string& title) {
        const std::size_t at = head.find(title);
        const std::size_t begin = std::min(head.find_last_not_of(' ', at - 1) + 1, line.size());
        return trimmed(line.substr(begin, at + title.size() - begin));
      };
      const std::string time =
          trimmed(line.substr(name.size(), head.find("time/doc") + 8 - name.size()));
      stated[key] =
          time.ends_with("s") && time.find(' ') != std::string::npos ? under("vs base") : time;
    }
  }
  return stated;
}

/// The words of a LaTeX cell: "6357 (n.d.)", "\underline{500}", "oom".
std::string of_latex(std::string cell) {
  cell = std::regex_replace(cell, std::regex(R"(\$\^\{\\textrm\{.*?\}\}\$)"), "");
  cell = std::regex_replace(trimmed(cell), std::regex(R"(\$\^\{[^}]*\}\$)"), "");
  if (cell.starts_with("\\underline")) return "baseline";
  const std::size_t open = cell.find('(');
  if (open == std::string::npos) return std::regex_match(cell, std::regex("[0-9.]+")) ? "" : cell;
  std::string words = cell.substr(open + 1, cell.find(')') - open - 1);
  words = std::regex_replace(words, std::regex(R"(\\,\\%)"), " %");
  return words == "n.d." ? "no difference shown" : words == "t.w." ? "interval too wide" : words;
}

Stated read_latex(const std::string& text, const Table& table) {
  Stated stated;
  std::string tokens;
  for (const std::string& line : lines_of(text)) {
    if (std::smatch found; std::regex_search(line, found, std::regex(R"(\\emph\{(\d+) tokens)")))
      tokens = found[1];
    if (!line.starts_with("ms & ") && !line.starts_with("$\\mu$s & ")) continue;
    const std::vector<std::string> cells = split(line.substr(0, line.size() - 3), " & ");
    for (std::size_t i = 1; i < cells.size(); ++i)
      stated[{table.rows.at(i - 1).cell.cell.contender.name, tokens}] = of_latex(cells[i]);
  }
  return stated;
}

TEST(SameWords, EveryFormatOfATable_HasTheSameVerdicts) {
  MeasuredRun run;
  const Table table = varied_table(run);
  const Stated stated = expected_of(table);
  const auto at = [&](std::size_t row) {
    return stated.at({table.rows[row].cell.cell.contender.name,
                      std::to_string(table.rows[row].cell.point.sequence_tokens)});
  };
  const std::vector<std::string> wanted{"baseline", "-50 %",
                                        "+100 %",   "no difference shown",
                                        "baseline", "interval too wide",
                                        "slower",   "oom",
                                        "oom",      "damaged"};
  for (std::size_t row = 0; row < wanted.size(); ++row) EXPECT_EQ(at(row), wanted[row]) << row;
  EXPECT_EQ(at(10), "") << "its baseline has no time";

  EXPECT_EQ(read_json(write_table(table, TableFormat::json)), stated);
  EXPECT_EQ(read_markdown(write_table(table, TableFormat::markdown)), stated);
  EXPECT_EQ(read_html(write_table(table, TableFormat::html)), stated);
  EXPECT_EQ(read_text(write_table(table, TableFormat::text), stated), stated);
  EXPECT_EQ(read_latex(write_table(table, TableFormat::latex), table), stated);
  for (const TableFormat format :
       {TableFormat::text, TableFormat::markdown, TableFormat::html, TableFormat::latex})
    EXPECT_THAT(write_table(table, format), testing::Not(testing::HasSubstr("119900")));
}

TEST(TableNotes, HaveOneSentencePerKind) {
  MeasuredRun run;
  Table table = varied_table(run);
  for (Row& row : table.rows) row.drift.is_flagged = true;
  for (Row& row : table.rows) row.share_of_limit = 0.5;
  table.rows[0].share_of_limit = 1.2;
  const std::vector<std::string> wanted{
      "no room (Full/dense, 512 tokens)", "~: times that drifted during their heat (9 cells)",
      "!: disturbed, by other processes or by many outliers: close other programs and measure "
      "again (sparse/sdpa-mask, w = 4, 64 tokens: ",
      "above 100 % of the limit: shorter than the measured ceilings allow, so the ceilings or the "
      "times are disturbed (Full/dense, 64 tokens)"};
  std::vector<const Row*> rows;
  for (const Row& row : table.rows) rows.push_back(&row);
  const std::vector<std::string> notes = notes_below(rows);
  for (const std::string& note : wanted)
    EXPECT_THAT(notes, testing::Contains(testing::HasSubstr(note)));
  EXPECT_EQ(notes.size(), 6U) << "and one each for the other oom and for the damage";
  for (const TableFormat format : {TableFormat::markdown, TableFormat::html, TableFormat::latex}) {
    const std::string text = write_table(table, format);
    const std::size_t at = text.find("drifted");
    EXPECT_NE(at, std::string::npos);
    EXPECT_EQ(text.find("drifted", at + 1), std::string::npos);
  }
  EXPECT_THAT(write_table(table, TableFormat::latex),
              testing::HasSubstr("1000$^{\\textrm{\\textasciitilde{}!}}$ (n.d.)"));
}

TEST(SameWords, EveryFormatOfAPivot_HasTheVerdictsOfTheTable) {
  MeasuredRun run;
  const Table table = varied_table(run);
  const Stated stated = expected_of(table);
  const auto pivot = make_pivot(table, {});
  ASSERT_TRUE(pivot);
  const auto of_words = [](const std::string& cell) {
    const std::size_t open = cell.find('(');
    if (open != std::string::npos) return cell.substr(open + 1, cell.find(')') - open - 1);
    return cell.find(' ') != std::string::npos ? std::string() : cell;
  };
  Stated markdown, latex;
  for (const std::string& line : lines_of(write_pivot(table, *pivot, TableFormat::markdown))) {
    if (!line.starts_with("| ") || line.find(" tokens |") != std::string::npos) continue;
    if (line.starts_with("| :")) continue;
    const std::vector<std::string> cells = split(line.substr(2), " |");
    const bool is_baseline = cells[0].ends_with(" (baseline)");
    const std::string name = cells[0].substr(0, cells[0].find(" (baseline)"));
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string words = of_words(trimmed(cells.at(i + 1)));
      markdown[{name, std::vector<std::string>{"64", "256", "512"}[i]}] =
          is_baseline && words.empty() ? "baseline" : words;
    }
  }
  EXPECT_EQ(markdown, stated);
  for (const std::string& line : lines_of(write_pivot(table, *pivot, TableFormat::latex))) {
    const std::vector<std::string> cells = split(line.substr(0, line.size() - 3), " & ");
    if (cells.size() != 4 || cells[0] == "Contender") continue;
    std::string name = std::regex_replace(cells[0], std::regex(R"(\\underline\{(.*)\})"), "$1");
    std::erase(name, '$');  // of "w = 4", a formula
    for (std::size_t i = 0; i < 3; ++i)
      latex[{name, std::vector<std::string>{"64", "256", "512"}[i]}] = of_latex(cells[i + 1]);
  }
  EXPECT_EQ(latex, stated);
}

TEST(SameWords, EveryFormatOfAComparison_HasTheSameVerdicts) {
  const MeasuredRun run;
  auto comparison = compare_runs(run.store(), run.info(), run.store(), run.info());
  ASSERT_TRUE(comparison);
  auto& cells = comparison->cells;
  cells[0].ratio = Ratio{.ratio = 0.5, .low = 0.4, .high = 0.6, .verdict = Verdict::faster};
  cells[1].ratio = Ratio{.ratio = 0.9, .low = 0.8, .high = 1.1};
  cells[2].ratio = Ratio{.ratio = 64, .low = 0.1, .high = 900};
  cells[3].ratio = Ratio{.ratio = 64, .low = 2, .high = 900, .verdict = Verdict::slower};
  std::vector<std::string> stated;
  for (const ComparedLine& line : comparison_lines(*comparison)) stated.push_back(line.texts[3]);
  EXPECT_THAT(std::vector(stated.begin(), stated.begin() + 4),
              testing::ElementsAre("-50 %", "no difference shown", "interval too wide", "slower"));

  std::vector<std::string> of_json, of_csv, of_markdown, of_latex_cells;
  const auto words = [](const json& low, double ratio, double high, const std::string& verdict) {
    return difference_in_words({.ratio = ratio,
                                .low = low.get<double>(),
                                .high = high,
                                .verdict = verdict_named(verdict)});
  };
  const json whole = json::parse(write_comparison(*comparison, TableFormat::json));
  for (const json& cell : whole["cells"]) {
    of_json.push_back(cell["ratio"].is_null() ? ""
                                              : words(cell["ratio_low"], cell["ratio"],
                                                      cell["ratio_high"], cell["verdict"]));
  }
  EXPECT_EQ(of_json, stated);
  const auto csv = parse_csv(write_comparison(*comparison, TableFormat::csv));
  for (std::size_t i = 1; i < csv.size(); ++i) {
    const auto& fields = csv[i];
    of_csv.push_back(fields[4].empty() ? ""
                                       : words(std::stod(fields[5]), std::stod(fields[4]),
                                               std::stod(fields[6]), fields[7]));
  }
  EXPECT_EQ(of_csv, stated);
  for (const std::string& line : lines_of(write_comparison(*comparison, TableFormat::markdown))) {
    if (line.starts_with("| ") && line.find("tokens |") != std::string::npos)
      of_markdown.push_back(trimmed(split(line.substr(2), " |").at(4)));
  }
  EXPECT_EQ(of_markdown, stated);
  for (const std::string& line : lines_of(write_comparison(*comparison, TableFormat::latex))) {
    const auto parts = split(line, " & ");
    if (parts.size() != 6 || parts[0] == "Setting") continue;
    of_latex_cells.push_back(
        std::regex_replace(parts[4], std::regex(R"(\$([^$\\]*)\\,\\%\$)"), "$1 %"));
  }
  EXPECT_EQ(of_latex_cells, stated);
}

}  // namespace
}  // namespace attnscope::report
