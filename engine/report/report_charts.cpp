// SPDX-License-Identifier: Apache-2.0
#include "engine/report/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/conditions.h"
#include "engine/report/crossovers.h"
#include "engine/report/run_figures.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/slice.h"

namespace attnscope::report {
namespace {

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
  ordered_json json = {{"x", six_digits(point.x)}, {"y", six_digits(point.y)}};
  std::string text = y_in_words(y, point.y);
  if (point.low < point.high) {
    json["low"] = six_digits(point.low);
    json["high"] = six_digits(point.high);
    text += fmt::format(" (95 %: {} to {})", y_in_words(y, point.low), y_in_words(y, point.high));
  }
  json["cell"] = fmt::format("{}", point.cell);
  json["text"] = text;
  return json;
}

ordered_json json_of(const Series& series, std::size_t slot, YAxis y) {
  ordered_json points = ordered_json::array(), rail = ordered_json::array();
  for (const Point& point : series.points) points.push_back(json_of(point, y));
  for (const RailMark& mark : series.rail) {
    ordered_json& json = rail.emplace_back(ordered_json{{"x", six_digits(mark.x)},
                                                        {"word", mark.word()},
                                                        {"reason", one_line(mark.reason)},
                                                        {"cell", fmt::format("{}", mark.cell)}});
    if (mark.value) json["value"] = json_of(*mark.value, y);
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
  for (const Row& row : table.rows) {
    std::string key = contender_along(row.cell.cell.contender, x);
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
  }
  return keys;
}

/// Whether the figure is informative: it has points, and for executed work not all of them are 1.
bool tells_something(const Figure& figure, YAxis y) {
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
    if (!figure || !tells_something(*figure, view.y)) continue;
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
  std::vector<bool> told = varying_axes(table.rows);
  if (x != XAxis::window) told[place_of_axis(key_along(x))] = false;
  ordered_json settings = ordered_json::array();
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    std::string title;
    ordered_json drawn = views_of(table_of(table, rows), x, title);
    if (drawn.empty()) continue;
    settings.push_back(ordered_json{{"name", words_of(rows.front()->cell.point, told, true)},
                                    {"title", title},
                                    {"views", std::move(drawn)}});
  }
  return {{"name", axis_name(key_along(x))}, {"settings", std::move(settings)}};
}

/// In a page element the text would end at its first "</".
std::string in_page(const ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
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
    Series series{.name = {}, .style_key = {}, .points = {}, .rail = {}};
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
    ordered_json json = json_of(series, static_cast<std::size_t>(slot), y);
    for (const HistoryChange& change : cells[i].changes) {
      if (y != YAxis::time) break;
      for (ordered_json& point : json["points"]) {
        if (point["x"] == static_cast<double>(change.to)) point["changed"] = true;
      }
    }
    all.push_back(std::move(json));
  }
  return {{"name", view_of(y).title},
          {"x", "Runs, the oldest first"},
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

}  // namespace

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
      if (row == nullptr) continue;
      std::string id = row->cell.cell.contender.id();
      if (std::ranges::find(contenders, id) == contenders.end())
        contenders.push_back(std::move(id));
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

}  // namespace attnscope::report
