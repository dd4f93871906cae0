// SPDX-License-Identifier: Apache-2.0
#include "engine/report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "engine/pattern/nearest_name.h"
#include "engine/report/answer.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/places.h"
#include "engine/report/row_values.h"
#include "engine/report/writers.h"
#include "kernels/plan/in_a_sentence.h"

namespace attnscope::report {
namespace {

constexpr std::array<std::string_view, 2> x_names{"length", "window"};
constexpr std::array<std::string_view, 6> y_names{"time",  "memory",    "limit",
                                                  "ratio", "per-token", "executed"};

template <typename Axis, std::size_t count>
Result<Axis> parse_axis(std::string_view option, std::string_view text,
                        const std::array<std::string_view, count>& names) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    return fail("{}: there is no axis '{}'; {}", option, in_a_sentence(text),
                suggest(in_a_sentence(text), names));
  }
  return static_cast<Axis>(found - names.begin());
}

/// A row's place above x: a value with its interval, or the reason why there is none.
struct Drawn {
  std::optional<Point> point;
  std::string reason;
};

Drawn value(double y, double low, double high) {
  const bool interval = std::isfinite(low) && std::isfinite(high) && low > 0;
  return {Point{0, y, interval ? low : y, interval ? high : y}, {}};
}

Drawn measured_value(const Row& row, YAxis axis) {
  const statistics::Summary& time = row.cell.summary;
  const double documents = documents_of(row);
  switch (axis) {
    case YAxis::time: {
      const double scale = 1 / (1e6 * documents);
      return value(time.median_ns * scale, time.low_ns * scale, time.high_ns * scale);
    }
    case YAxis::per_token: {
      const auto tokens = static_cast<double>(row.cell.point.sequence_tokens);
      const double scale = 1000 / (1e6 * items_of(row) * tokens);
      return value(time.median_ns * scale, time.low_ns * scale, time.high_ns * scale);
    }
    case YAxis::memory: {
      const double mb = static_cast<double>(peak_bytes(row.cell.cell.memory)) / 1e6 / documents;
      return value(mb, mb, mb);
    }
    case YAxis::limit:
      if (!row.share_of_limit) return {std::nullopt, "no ceilings are known for it"};
      return value(*row.share_of_limit, *row.limit_ms / (time.high_ns / 1e6),
                   *row.limit_ms / (time.low_ns / 1e6));
    case YAxis::executed: {
      const std::optional<double> ratio = executed_ratio(row);
      if (!ratio) return {std::nullopt, "its work is not known"};
      return value(*ratio, *ratio, *ratio);
    }
    case YAxis::ratio:
      break;
  }
  if (!row.ratio) return {std::nullopt, "the baseline has no time there"};
  return value(row.ratio->ratio, row.ratio->low, row.ratio->high);
}

Drawn draw(const Row& row, YAxis axis) {
  if (!is_measured(row)) return {std::nullopt, outcome_of(row).reason};
  Drawn drawn = measured_value(row, axis);
  if (drawn.point && (!std::isfinite(drawn.point->y) || !(drawn.point->y > 0))) {
    return {std::nullopt, "its value is 0, which a logarithmic axis cannot show"};
  }
  return drawn;
}

/// An error when rows that would lie on one line differ in more than x.
Status check_one_setting(const Table& table, XAxis x) {
  const std::vector<bool> varying = varying_axes(table.rows);
  if (table.rows.empty()) return {};
  const std::vector<AxisValue> first = axes_of(table.rows.front().cell.point);
  for (std::size_t i = 0; i < varying.size(); ++i) {
    const bool drawn_along = x == XAxis::length && i == length_axis;
    if (!varying[i] || drawn_along) continue;
    std::vector<std::string> values;
    for (const Row& row : table.rows) {
      const std::string text = axes_of(row.cell.point)[i].value;
      if (std::ranges::find(values, text) == values.end()) values.push_back(text);
    }
    std::string all;
    for (const std::string& text : values) all += (all.empty() ? "" : ", ") + text;
    return fail("a figure shows one {}, and these cells have {}; choose with --only {}={}",
                first[i].key, all, first[i].key, values.front());
  }
  return {};
}

/// Where a window lies on the x axis; an infinite one at the longest document's length, which it
/// equals.
double place_of(const Window& window, const Row& row) {
  if (!window.is_infinite()) return static_cast<double>(window.tokens());
  if (row.cell.cell.document_tokens > 0) {
    const auto documents = static_cast<double>(std::max<std::int64_t>(row.cell.point.documents, 1));
    return std::ceil(static_cast<double>(row.cell.cell.document_tokens) / documents);
  }
  return static_cast<double>(row.cell.point.sequence_tokens);
}

std::set<double> window_places(const Table& table) {
  std::set<double> places;
  for (const Row& row : table.rows) {
    const auto& window = row.cell.cell.contender.window;
    if (window) places.insert(place_of(*window, row));
  }
  return places;
}

Series& series_of(Figure& figure, std::string name, const std::string& key) {
  const auto found = std::ranges::find(figure.series, key, &Series::style_key);
  if (found != figure.series.end()) return *found;
  return figure.series.emplace_back(
      Series{.name = std::move(name), .style_key = key, .points = {}, .rail = {}});
}

void add(Series& series, const Row& row, YAxis y, double x) {
  Drawn drawn = draw(row, y);
  if (drawn.point) {
    drawn.point->x = x;
    series.points.push_back(*drawn.point);
  } else {
    const CellStatus status = row.cell.damaged ? CellStatus::wrong : row.cell.cell.status;
    series.rail.push_back(
        {.x = x, .status = status, .reason = std::move(drawn.reason), .damaged = row.cell.damaged});
  }
}

void add_along_windows(Figure& figure, const Table& table, YAxis y,
                       const std::set<double>& places) {
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const std::string key = contender.pattern + "/" + contender.implementation;
    Series& series = series_of(figure, base_name(contender), key);
    if (contender.window) {
      add(series, row, y, place_of(*contender.window, row));
    } else {
      for (const double place : places) add(series, row, y, place);
    }
  }
  figure.log_x = *places.begin() > 0;  // w = 0 has no place on a logarithmic axis
}

std::string y_label(const Table& table, YAxis y) {
  switch (y) {
    case YAxis::time:
      return "Time per document (ms)";
    case YAxis::memory:
      return "Memory per document (MB)";
    case YAxis::per_token:
      return "Time per 1000 tokens (ms)";
    case YAxis::limit:
      return "Share of the machine's limit";
    case YAxis::executed:
      return "Executed over useful products";
    case YAxis::ratio:
      break;
  }
  return fmt::format("Time relative to {}", table.baseline.value_or(""));
}

std::optional<double> line_at(YAxis y) {
  return y == YAxis::ratio || y == YAxis::executed ? std::optional(1.0) : std::nullopt;
}

std::string title_of(const Table& table, XAxis x) {
  if (table.rows.empty()) return table.run.start.sweep_name;
  std::vector<bool> left_out(axes_of({}).size(), false);
  left_out[length_axis] = x == XAxis::length;
  return words_of(table.rows.front().cell.point, left_out, false);
}

}  // namespace

Result<XAxis> parse_x(std::string_view text) {
  return parse_axis<XAxis>("--x", text, x_names);
}
Result<YAxis> parse_y(std::string_view text) {
  return parse_axis<YAxis>("--y", text, y_names);
}

Result<std::vector<YAxis>> parse_ys(std::string_view text) {
  std::vector<YAxis> ys;
  while (true) {
    const std::size_t comma = text.find(',');
    const Result<YAxis> y = parse_y(text.substr(0, comma));
    if (!y) return tl::unexpected(y.error());
    if (std::ranges::find(ys, *y) != ys.end()) {
      return fail("--y: '{}' is there a second time; name every value once", text.substr(0, comma));
    }
    ys.push_back(*y);
    if (comma == std::string_view::npos) return ys;
    text.remove_prefix(comma + 1);
  }
}

std::string_view RailMark::word() const {
  return damaged ? damaged_status : name_of(status);
}

void mark_crossovers(Figure& figure, const Table& table, XAxis x) {
  if (!table.baseline) return;
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    const Places places(rows, x);
    for (const CrossoverAnswer& one : find_crossover_answers(rows, x, *table.baseline)) {
      for (const statistics::Crossing& crossing : one.found.crossings) {
        if (!crossing.at) continue;
        const double at = x == XAxis::window ? (*crossing.at - 1) / 2 : *crossing.at;
        figure.marks.push_back(
            {.x = at,
             .text = fmt::format("{} {}", crossing.a_overtakes ? "from" : "up to",
                                 places.words(*crossing.at)),
             .style_key = one.contender});
      }
    }
  }
}

Result<Figure> make_figure(const Table& table, XAxis x, YAxis y) {
  if (y == YAxis::ratio && !table.baseline) {
    return fail("--y ratio needs something to compare with; name it with --baseline");
  }
  if (Status one = check_one_setting(table, x); !one) return tl::unexpected(one.error());
  Figure figure{.title = title_of(table, x),
                .x_label = x == XAxis::length ? "Sequence length (tokens)" : "Window w (tokens)",
                .y_label = y_label(table, y),
                .log_x = true,
                .log_y = y != YAxis::limit && y != YAxis::per_token,
                .line_at = line_at(y),
                .series = {},
                .provenance = provenance_line(table.run)};
  if (x == XAxis::length) {
    for (const Row& row : table.rows) {
      const Contender& contender = row.cell.cell.contender;
      add(series_of(figure, contender.name, contender.id()), row, y,
          static_cast<double>(row.cell.point.sequence_tokens));
    }
  } else if (!table.rows.empty()) {
    const std::set<double> places = window_places(table);
    if (places.empty()) {
      return fail("no contender of run {} has a window to draw along; use --x length",
                  table.run.number);
    }
    add_along_windows(figure, table, y, places);
  }
  for (Series& series : figure.series) {
    std::ranges::stable_sort(series.points, {}, &Point::x);
    std::ranges::stable_sort(series.rail, {}, &RailMark::x);
  }
  return figure;
}

std::string figure_csv(const Figure& figure) {
  std::string text = "series,x,y,low,high,status\r\n";
  for (const Series& series : figure.series) {
    const std::string name = csv_field(series.name);
    for (const Point& point : series.points) {
      text += fmt::format("{},{},{},{},{},ok\r\n", name, point.x, point.y, point.low, point.high);
    }
    for (const RailMark& mark : series.rail) {
      text += fmt::format("{},{},,,,{}\r\n", name, mark.x, mark.word());
    }
  }
  return text;
}

}  // namespace attnscope::report
