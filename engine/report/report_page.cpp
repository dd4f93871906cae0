// SPDX-License-Identifier: Apache-2.0
#include "engine/report/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/report/html_page.h"
#include "engine/report/length_curve.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/report/run_figures.h"
#include "engine/report/sheet.h"
#include "engine/report/slice.h"

namespace attnscope::report {
namespace {

// The charts of a page, as data drawn by resources/report/report.js: for each axis with several
// values in the run and each setting of the other axes, the figures that `plot` draws along it.
//
//   {"axes": [{"name": "Length", "settings": [{"name": "float16", "title": "...", "views": [
//       {"name": "Time", "x": "Sequence length (tokens)", "y": "Time per document (ms)",
//        "xlog": true, "ylog": true, "line": null, "warning": "", "series": [
//           {"name": "Sparse", "slot": 3,
//            "points": [{"x": 512, "y": 2.4, "low": 2.3, "high": 2.5, "cell": "7", "text": "..."}],
//            "rail": [{"x": 4096, "word": "oom", "reason": "...", "cell": "9"}]}]}]}]}],
//    "cells": {"7": ["512 tokens", "another fact about the cell", ...]}}
//
// "names" of a view are labels at x = 0, 1, ...; a point with a reported change is "changed"; low
// and high are omitted without an interval.

using nlohmann::ordered_json;

/// Enough digits for a screen; the tables and exports have all digits.
double six_digits(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  double number = value;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Whether a view is along an axis, with one line per contender: others need their own drawing.
bool is_along_axis(YAxis y) {
  switch (y) {
    case YAxis::time:
    case YAxis::memory:
    case YAxis::limit:
    case YAxis::ratio:
    case YAxis::per_token:
    case YAxis::per_ms:
    case YAxis::executed:
    case YAxis::per_query:
    case YAxis::cache:
      return true;
    case YAxis::roofline:
    case YAxis::space:
    case YAxis::trec_ndcg:
    case YAxis::dev_ndcg:
    case YAxis::effectiveness:
    case YAxis::stages:
    case YAxis::parts:
      break;
  }
  return false;
}

/// A point's number, formatted as in tables.
std::string y_in_words(YAxis y, double value) {
  if (y == YAxis::memory || y == YAxis::cache) return format_bytes(value * 1e6);
  if (y == YAxis::ratio || y == YAxis::executed) return format_times(value);
  if (y == YAxis::limit) return three_digits(100 * value) + " %";
  if (y == YAxis::per_ms) return three_digits(value) + " documents/ms";
  return format_time(value * 1e6);
}

ordered_json json_of(const Point& point, YAxis y) {
  ordered_json object = {{"x", six_digits(point.x)}, {"y", six_digits(point.y)}};
  std::string text = y_in_words(y, point.y);
  if (point.low < point.high) {
    object["low"] = six_digits(point.low);
    object["high"] = six_digits(point.high);
    text += fmt::format(" (95 %: {} to {})", y_in_words(y, point.low), y_in_words(y, point.high));
  }
  object["cell"] = fmt::format("{}", point.cell);
  object["text"] = text;
  return object;
}

ordered_json json_of(const Series& series, std::size_t slot, YAxis y) {
  ordered_json points = ordered_json::array(), rail = ordered_json::array();
  for (const Point& point : series.points) points.push_back(json_of(point, y));
  for (const RailMark& mark : series.rail) {
    ordered_json& object = rail.emplace_back(ordered_json{{"x", six_digits(mark.x)},
                                                          {"word", mark.word()},
                                                          {"reason", one_line(mark.reason)},
                                                          {"cell", fmt::format("{}", mark.cell)}});
    if (mark.value) object["value"] = json_of(*mark.value, y);
  }
  return {{"name", one_line(series.name)},
          {"slot", slot},
          {"points", std::move(points)},
          {"rail", std::move(rail)}};
}

/// The identity of every contender along x, in the run's order: its index determines its style in
/// all charts.
std::vector<std::string> style_keys(const Table& table, XAxis x) {
  if (x != XAxis::window) return table.contenders;
  std::vector<std::string> keys;
  for (const Row& row : table.rows) add_once(keys, contender_along(row.cell.cell.contender, x));
  return keys;
}

/// Whether the figure is informative: it has points, and for executed work not all of them are 1.
bool is_informative(const Figure& figure, YAxis y) {
  return std::ranges::any_of(figure.series, [y](const Series& series) {
    if (y == YAxis::time && !series.rail.empty()) return true;
    return std::ranges::any_of(series.points, [y](const Point& point) {
      return y != YAxis::executed || six_digits(point.y) != 1;
    });
  });
}

ordered_json json_of(const Figure& figure, const View& view, const std::vector<std::string>& keys) {
  ordered_json series = ordered_json::array();
  for (const Series& line : figure.series) {
    const auto slot = std::ranges::find(keys, line.style_key) - keys.begin();
    series.push_back(json_of(line, static_cast<std::size_t>(slot), view.y));
  }
  return {
      {"name", view.title},
      {"x", figure.x_label},
      {"y", figure.y_label},
      {"xlog", figure.x_scale != Scale::linear},
      {"ylog", figure.y_scale != Scale::linear},
      {"inf", figure.infinite_x ? ordered_json(six_digits(*figure.infinite_x)) : ordered_json()},
      {"line", figure.line_at ? ordered_json(*figure.line_at) : ordered_json()},
      {"warning", figure.warning},
      {"series", std::move(series)}};
}

/// The figures of one setting, as the views of one chart.
ordered_json views_of(const Table& table, XAxis x, std::string& title) {
  const std::vector<std::string> keys = style_keys(table, x);
  ordered_json drawn = ordered_json::array();
  for (const View& view : views()) {
    if (!is_along_axis(view.y)) continue;
    const Result<Figure> figure = make_figure(table, x, view.y);
    if (!figure || !is_informative(*figure, view.y)) continue;
    if (drawn.empty()) title = figure->title;
    drawn.push_back(json_of(*figure, view, keys));
  }
  return drawn;
}

/// The cell's setting and all facts known about it, regardless of the view.
ordered_json facts_of(const Row& row, const Table& table, const std::vector<bool>& varying) {
  ordered_json lines = ordered_json::array({words_of(row.cell.point, varying, true)});
  if (!is_measured(row)) return lines;
  const double documents = documents_of(row);
  lines.push_back(
      fmt::format("{} and {} per document", format_time(row.cell.summary.median_ns / documents),
                  format_bytes(static_cast<double>(peak_bytes(row.cell.cell.memory)) / documents)));
  if (const std::string against = against_baseline(row); against == "baseline") {
    lines.push_back(against);
  } else if (!against.empty()) {
    lines.push_back(fmt::format("{} against {} (95 %: {})", against, *table.baseline,
                                interval_in_words(*row.ratio)));
  }
  for (const std::string& note : notes_on(row)) lines.push_back(note);
  return lines;
}

/// Axes for charts: those with several values, or the length.
std::vector<XAxis> axes_to_draw(const Table& table) {
  std::set<std::int64_t> lengths;
  std::set<double> candidates;
  std::set<std::string> windows;
  for (const Row& row : table.rows) {
    lengths.insert(row.cell.point.sequence_tokens);
    if (row.cell.point.stage != Stage::offline) candidates.insert(candidates_of(row));
    if (const auto& window = row.cell.cell.contender.window) windows.insert(window->text());
  }
  const bool of_models = table.rows.front().cell.point.operation == Operation::model;
  std::vector<XAxis> axes;
  if (lengths.size() > 1) axes.push_back(XAxis::length);
  if (of_models && candidates.size() > 1 && varying_axes(table.rows)[candidates_axis])
    axes.push_back(XAxis::candidates);
  if (windows.size() > 1) axes.push_back(XAxis::window);
  if (axes.empty()) axes.push_back(XAxis::length);
  return axes;
}

/// Omits samples, which figures do not need and which make up most of a table.
Table table_of(const Table& table, const std::vector<const Row*>& rows) {
  Table own = without_rows(table);
  own.rows.reserve(rows.size());
  for (const Row* row : rows) {
    Row& copy = own.rows.emplace_back(*row);
    copy.cell.cell.samples.clear();
    copy.cell.outliers.clear();
  }
  return own;
}

ordered_json axis_json(const Table& table, XAxis x) {
  std::vector<bool> named = varying_axes(table.rows);
  if (x != XAxis::window) named[place_of_axis(key_along(x))] = false;
  ordered_json settings = ordered_json::array();
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    std::string title;
    ordered_json drawn = views_of(table_of(table, rows), x, title);
    if (drawn.empty()) continue;
    settings.push_back(ordered_json{{"name", words_of(rows.front()->cell.point, named, true)},
                                    {"title", title},
                                    {"views", std::move(drawn)}});
  }
  return {{"name", axis_name(key_along(x))}, {"settings", std::move(settings)}};
}

/// In a page element the text would end at its first "</".
std::string in_page(const ordered_json& chart) {
  const std::string text = chart.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe.push_back(c);
    }
  }
  return safe;
}

/// A view of one point's cells over the runs.
ordered_json history_view(const RunHistory& history, std::span<const HistoryCell> cells,
                          const std::vector<std::string>& contenders, YAxis y,
                          std::size_t first_cell) {
  ordered_json names = ordered_json::array(), all = ordered_json::array();
  for (const HistoryRun& measured_run : history.runs) {
    names.push_back(ordered_json::array(
        {fmt::format("run {}", measured_run.run.number), measured_run.commit.substr(0, 7)}));
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Series series;
    std::string id;
    for (std::size_t run = 0; run < history.runs.size(); ++run) {
      const Row* const row = cells[i].rows[run];
      if (row == nullptr) continue;
      series.name = row->cell.cell.contender.name;
      id = row->cell.cell.contender.id();
      const auto x = static_cast<double>(run);
      const auto key = static_cast<std::int64_t>((first_cell + i) * history.runs.size() + run);
      if (!is_measured(*row)) {
        series.rail.push_back({.x = x,
                               .status = row->cell.cell.status,
                               .reason = outcome_of(*row).reason,
                               .damaged = row->cell.damaged,
                               .label = {},
                               .cell = key});
        continue;
      }
      const statistics::Summary& time = row->cell.summary;
      const double documents = documents_of(*row), scale = 1 / (1e6 * documents);
      const double mb = static_cast<double>(peak_bytes(row->cell.cell.memory)) / 1e6 / documents;
      const bool is_time = y == YAxis::time;
      series.points.push_back({.x = x,
                               .y = is_time ? time.median_ns * scale : mb,
                               .low = is_time ? time.low_ns * scale : mb,
                               .high = is_time ? time.high_ns * scale : mb,
                               .label = {},
                               .cell = key,
                               .mark = {}});
    }
    const auto slot = std::ranges::find(contenders, id) - contenders.begin();
    ordered_json line = json_of(series, static_cast<std::size_t>(slot), y);
    for (const HistoryChange& change : cells[i].changes) {
      if (y != YAxis::time) break;
      for (ordered_json& point : line["points"]) {
        if (point["x"] == static_cast<double>(change.to)) point["changed"] = true;
      }
    }
    all.push_back(std::move(line));
  }
  return {{"name", view_of(y).title},
          {"x", "Runs, oldest first"},
          {"y", y == YAxis::time ? "Time per document (ms)" : "Memory per document (MB)"},
          {"names", std::move(names)},
          {"xlog", false},
          {"ylog", true},
          {"line", nullptr},
          {"warning", ""},
          {"series", std::move(all)}};
}

/// Adds the facts about a cell in each run.
void add_facts(const RunHistory& history, std::size_t place, ordered_json& facts) {
  const HistoryCell& cell = history.cells[place];
  for (std::size_t run = 0; run < history.runs.size(); ++run) {
    if (cell.rows[run] == nullptr) continue;
    ordered_json lines = ordered_json::array({name_of(history.runs[run])});
    for (const HistoryChange& change : cell.changes) {
      if (change.to != run) continue;
      lines.push_back(fmt::format("{} (95 %: {}) since {}", difference_in_words(change.ratio),
                                  interval_in_words(change.ratio),
                                  name_of(history.runs[change.from])));
    }
    for (const std::string& note : notes_on(*cell.rows[run])) lines.push_back(note);
    facts[fmt::format("{}", place * history.runs.size() + run)] = std::move(lines);
  }
}

std::string chart_of(const Table& table) {
  if (table.rows.empty()) return {};
  ordered_json axes = ordered_json::array(), cells = ordered_json::object();
  for (const XAxis x : axes_to_draw(table)) {
    ordered_json axis = axis_json(table, x);
    if (!axis["settings"].empty()) axes.push_back(std::move(axis));
  }
  if (axes.empty()) return {};
  std::vector<bool> varying = varying_axes(table.rows);
  varying[length_axis] = true;
  for (const Row& row : table.rows)
    cells[fmt::format("{}", row.cell.cell_number)] = facts_of(row, table, varying);
  return in_page({{"axes", std::move(axes)}, {"cells", std::move(cells)}});
}

std::string chart_of(const RunHistory& history) {
  if (history.cells.empty()) return {};
  std::vector<std::string> contenders;
  for (const HistoryCell& cell : history.cells) {
    for (const Row* row : cell.rows) {
      if (row != nullptr) add_once(contenders, row->cell.cell.contender.id());
    }
  }
  const std::vector<std::string> points = history_points(history);
  ordered_json settings = ordered_json::array(), facts = ordered_json::object();
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    while (end < points.size() && points[end] == points[begin]) add_facts(history, end++, facts);
    const auto own = std::span(history.cells).subspan(begin, end - begin);
    ordered_json drawn = ordered_json::array();
    for (const YAxis y : {YAxis::time, YAxis::memory})
      drawn.push_back(history_view(history, own, contenders, y, begin));
    settings.push_back(ordered_json{
        {"name", points[begin]}, {"title", points[begin]}, {"views", std::move(drawn)}});
    begin = end;
  }
  ordered_json axes = ordered_json::array();
  axes.push_back(ordered_json{{"name", "Runs"}, {"settings", std::move(settings)}});
  return in_page({{"axes", std::move(axes)}, {"cells", std::move(facts)}});
}

// The page.

std::string in_paragraph(std::string_view text, std::string_view kind = {}) {
  if (text.empty()) return {};
  return kind.empty() ? fmt::format("<p>{}</p>\n", html_escaped(text))
                      : fmt::format("<p class=\"{}\">{}</p>\n", kind, html_escaped(text));
}

std::string list_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = "<ul>\n";
  for (const std::string& line : lines) text += fmt::format("<li>{}</li>\n", html_escaped(line));
  return text + "</ul>\n";
}

/// Preformatted lines of a file or a shell.
std::string lines_as_they_are(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines += html_escaped(text.substr(0, end)) + "\n";
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return fmt::format("<pre>{}</pre>\n", lines);
}

/// The heading level of a run: on a page of one run its name is the title; with several runs, each
/// has a section.
class SectionOfRun {
 public:
  SectionOfRun(const ReportedRun& run, bool is_only)
      : run_(run), info_(run.table.run), level_(is_only ? 2 : 3) {}

  [[nodiscard]] std::string html() const {
    return about() + verdicts() + charts() + numbers() + origin() + repetition();
  }

 private:
  [[nodiscard]] std::string heading(std::string_view text, int below = 0) const {
    return fmt::format("<h{0}>{1}</h{0}>\n", level_ + below, html_escaped(text));
  }

  [[nodiscard]] std::string about() const {
    std::string text = fmt::format("Run {} of {}, {}, {}, {}", info_.number, info_.start.sweep_name,
                                   name_of(info_.status), time_in_words(info_.started_unix_ms),
                                   info_.start.device);
    if (!run_.answers.empty()) {
      if (const std::string& shared = run_.answers.front().shared; !shared.empty())
        text += "; " + shared;
    }
    if (run_.table.baseline) text += fmt::format("; baseline: {}", *run_.table.baseline);
    return in_paragraph(text, "about");
  }

  [[nodiscard]] static std::size_t sentences_of(const Answer& answer) {
    return answer.crossovers.size() + answer.fits.size() + answer.rankings.size();
  }

  /// One setting, in the order and wording of `answer`: caveats first, then all sentences, which
  /// are collapsed if they would push the charts down.
  [[nodiscard]] std::string sentences(const Answer& answer, bool is_open) const {
    std::vector<std::string> along, fits, rankings;
    for (const CrossoverAnswer& crossover : answer.crossovers) along.push_back(crossover.sentence);
    for (const FitAnswer& fit : answer.fits) fits.push_back(fit.sentence);
    for (const Ranking& ranking : answer.rankings) rankings.push_back(sentence_of(ranking));
    const Headline headline = headline_of(answer);
    std::string html = in_paragraph(headline.sentence, "lead") + in_paragraph(headline.of_all) +
                       in_paragraph(headline.against_baseline) + html_paragraphs(answer.notes);
    if (sentences_of(answer) == 0) return html;
    html += fmt::format("<details{}><summary>All details: {}</summary>\n", is_open ? " open" : "",
                        counted(sentences_of(answer), "sentence"));
    const auto add = [&](std::string_view title, const std::vector<std::string>& lines) {
      if (!lines.empty()) html += heading(title, 1) + list_of(lines);
    };
    add(fmt::format("Along the {}", name_of(answer.x)), along);
    add("Longest length that fits", fits);
    add("Fastest", rankings);
    return html + "</details>\n";
  }

  [[nodiscard]] std::string verdicts() const {
    constexpr std::size_t most_open = 16;
    std::string html = heading("Verdicts");
    html += in_paragraph(run_.table.rows.empty() ? "No heat of this run is finished yet."
                                                 : nothing_measured(all_rows(run_.table.rows)),
                         "lead");
    std::size_t all = 0;
    for (const Answer& answer : run_.answers) all += sentences_of(answer);
    for (const Answer& answer : run_.answers) {
      if (run_.answers.size() > 1) html += heading(answer.setting, 1);
      html += sentences(answer, all <= most_open);
    }
    return html;
  }

  [[nodiscard]] std::string charts() const;

  [[nodiscard]] std::string numbers() const {
    if (run_.table.rows.empty()) return {};
    const Sheet sheet = sheet_of(run_.table);
    return heading("Numbers") + html_paragraphs(sheet.above) + html_table(sheet) +
           (sheet.notes.empty() ? "" : heading("Missing cells and notes", 1)) +
           list_of(sheet.notes);
  }

  [[nodiscard]] std::string origin() const {
    std::string html = heading("Where the numbers come from");
    std::vector<std::string> known = cautions(run_.description);
    if (known.empty()) known.emplace_back(nothing_known_against_it);
    html += heading("Before you trust these numbers", 1) + list_of(known);
    for (const DescribedPart& part : described_parts(run_.description)) {
      if (part.facts.empty()) continue;
      html += heading(part.title.empty() ? "Run" : part.title, 1) + "<dl>\n";
      for (const auto& [label, fact] : part.facts) {
        html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(label), html_escaped(fact));
      }
      html += "</dl>\n";
    }
    if (!info_.start.sweep_text.empty()) {
      html += fmt::format("<details><summary>The sweep</summary>\n{}</details>\n",
                          lines_as_they_are(info_.start.sweep_text));
    }
    return html;
  }

  [[nodiscard]] std::string repetition() const {
    return heading("To repeat it") + lines_as_they_are(command_on(info_, "run --again")) +
           in_paragraph(provenance_line(run_.table), "small");
  }

  const ReportedRun& run_;
  const RunInfo& info_;
  int level_;
};

/// A chart drawn by the script; without a script, the text below it refers to the numbers.
std::string chart_in_page(const std::string& chart) {
  return fmt::format(
      "<figure class=\"chart\"><svg class=\"plot\"></svg>\n<noscript><p class=\"small\">Charts are "
      "drawn by a script, which does not run here; the table below contains all their "
      "numbers.</p></noscript>\n<script type=\"application/json\">{}</script></figure>\n",
      chart);
}

std::string SectionOfRun::charts() const {
  const std::string chart = chart_of(run_.table);
  return chart.empty() ? std::string() : heading("Charts") + chart_in_page(chart);
}

std::string title_in_page(const RunInfo& run, bool is_only) {
  return is_only ? title_of(run) : fmt::format("{}, run {}", title_of(run), run.number);
}

/// One line per run, if there are several.
std::string summary_of(const ReportedRun& run, std::size_t place) {
  std::string headline = nothing_measured(all_rows(run.table.rows));
  if (run.table.rows.empty()) headline = "No heat of this run is finished yet.";
  for (const Answer& answer : run.answers) {
    const std::string sentence = headline_of(answer).sentence;
    if (sentence.empty()) continue;
    headline = answer.setting.empty() ? sentence : fmt::format("{}: {}", answer.setting, sentence);
    if (run.answers.size() > 1) {
      headline +=
          fmt::format(" {} more in its section.", counted(run.answers.size() - 1, "setting"));
    }
    break;
  }
  return fmt::format("<li><a href=\"#run-{}\">{}</a>: {}</li>\n", place + 1,
                     html_escaped(title_in_page(run.table.run, false)), html_escaped(headline));
}

std::string section_of(const RunHistory& history) {
  std::string html = fmt::format("<section class=\"history\">\n<h2>History of {}</h2>\n",
                                 html_escaped(history.runs.front().run.start.sweep_name));
  html += in_paragraph(history_in_words(history), "lead");
  if (const Sheet changes = changes_sheet(history); !changes.blocks.empty())
    html += "<h3>What changed</h3>\n" + html_table(changes);
  html += in_paragraph(
      "A change is reported where the 95 % interval of the ratio of two runs excludes 1; the "
      "interval is unpaired and widened by what may have changed between the runs.",
      "small");
  if (const std::string chart = chart_of(history); !chart.empty()) html += chart_in_page(chart);
  if (!history.cells.empty())
    html += "<h3>Time per document in each run</h3>\n" + html_table(history_sheet(history));
  return html + "</section>\n";
}

}  // namespace

Result<ReportedRun> read_for_report(const Store& store, const RunInfo& run,
                                    std::optional<std::string_view> baseline,
                                    const OnlyFilter& filter) {
  Result<Table> table = make_answer_table(store, run, baseline, filter, XAxis::length);
  if (!table) return tl::unexpected(table.error());
  Result<RunDescription> description = describe(store, run);
  if (!description) return tl::unexpected(description.error());
  std::vector<Answer> answers = make_answers(*table, XAxis::length);
  return ReportedRun{.table = std::move(*table),
                     .answers = std::move(answers),
                     .description = std::move(*description)};
}

std::string write_report(std::span<const ReportedRun> runs, std::span<const RunHistory> histories) {
  const bool is_only = runs.size() == 1;
  const std::string title =
      is_only ? title_in_page(runs.front().table.run, true) : counted(runs.size(), "run");
  std::string body = fmt::format("<main>\n<h1>{}</h1>\n", html_escaped(title));
  if (!is_only) {
    body += "<ul class=\"summary\">\n";
    for (std::size_t i = 0; i < runs.size(); ++i) body += summary_of(runs[i], i);
    for (const RunHistory& history : histories)
      body += fmt::format("<li>{}</li>\n", html_escaped(history_in_words(history)));
    body += "</ul>\n";
  }
  for (const RunHistory& history : histories) body += section_of(history);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    body += is_only ? "<section>\n"
                    : fmt::format("<section class=\"run\" id=\"run-{}\">\n<h2>{}</h2>\n", i + 1,
                                  html_escaped(title_in_page(runs[i].table.run, false)));
    body += SectionOfRun(runs[i], is_only).html() + "</section>\n";
  }
  body +=
      "</main>\n<footer><p>Written by AttnScope; this file contains everything it shows.</p>"
      "</footer>\n";
  return visible(html_page(
      title + " · AttnScope", body,
      {.styles = {resource("page.css"), resource("report.css")}, .script = resource("report.js")}));
}

}  // namespace attnscope::report
