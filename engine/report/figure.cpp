// SPDX-License-Identifier: Apache-2.0
#include "engine/report/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/report/row.h"
#include "engine/report/sheet.h"

namespace attnscope::report {
namespace {

constexpr std::string_view not_on_a_log_axis =
    "its value is 0, which a logarithmic axis cannot show";

/// Sorts by x if the figure is along x.
void put_back(const Figure& figure, Series& series) {
  std::vector<RailMark> kept;
  for (RailMark& mark : series.rail) {
    if (mark.value && can_show(figure.y_scale, mark.value->y)) {
      series.points.push_back(*mark.value);
    } else {
      kept.push_back(std::move(mark));
    }
  }
  series.rail = std::move(kept);
  if (figure.along_x) std::ranges::stable_sort(series.points, {}, &Point::x);
}

void take_out(const Figure& figure, Series& series) {
  std::vector<Point> kept;
  for (Point& point : series.points) {
    if (can_show(figure.y_scale, point.y) || !std::isfinite(point.y)) {
      kept.push_back(std::move(point));
    } else {
      series.rail.push_back({.x = point.x,
                             .status = CellStatus::ok,
                             .reason = std::string(not_on_a_log_axis),
                             .label = point.label,
                             .value = point,
                             .cell = point.cell});
    }
  }
  series.points = std::move(kept);
  if (figure.along_x) std::ranges::stable_sort(series.rail, {}, &RailMark::x);
}

bool has_labels(const Figure& figure) {
  return std::ranges::any_of(figure.series, [](const Series& series) {
    const auto is_labelled = [](const auto& one) { return !one.label.empty(); };
    return std::ranges::any_of(series.points, is_labelled) ||
           std::ranges::any_of(series.rail, is_labelled);
  });
}

/// The data file of a figure, as a Sheet; `before` precedes every row.
class FigureData {
 public:
  FigureData(std::vector<SheetColumn> before, bool has_labels) : has_labels_(has_labels) {
    sheet_.columns = std::move(before);
    for (const char* key : {"series", "x", "y", "low", "high", "status"})
      sheet_.columns.push_back({key, ""});
    if (has_labels) sheet_.columns.push_back({"label", ""});
  }

  void add(const Figure& figure, const std::vector<SheetCell>& before) {
    const auto add_row = [&](std::string_view name, std::array<Value, 4> numbers,
                             std::string_view status, std::string_view label = {}) {
      std::vector<SheetCell> cells = before;
      cells.emplace_back(std::string(name));
      for (Value& number : numbers) cells.emplace_back(std::move(number));
      cells.emplace_back(std::string(status));
      if (has_labels_) cells.emplace_back(std::string(label));
      sheet_.add(std::move(cells));
    };
    const auto x_of = [&](double x) -> Value {
      std::string name = name_on_x(figure, x);
      return name.empty() ? Value(x) : Value(std::move(name));
    };
    for (const Series& series : figure.series) {
      for (const Point& point : series.points) {
        add_row(series.name, {x_of(point.x), point.y, point.low, point.high}, "ok", point.label);
      }
      for (const RailMark& mark : series.rail) {
        add_row(series.name, {x_of(mark.x), mark.value ? Value(mark.value->y) : Value()},
                mark.word(), mark.label);
      }
    }
    for (const Mark& mark : figure.marks) {
      const auto about = std::ranges::find(figure.series, mark.style_key, &Series::style_key);
      if (about != figure.series.end()) add_row(about->name, {mark.x}, "crossover");
    }
    for (const Ceiling& ceiling : figure.ceilings) {
      add_row(ceiling.text, {ceiling.per_x ? Value(1.0) : Value(), ceiling.rate}, "ceiling");
    }
  }

  [[nodiscard]] std::string csv() const { return write_sheet(sheet_, TableFormat::csv); }

 private:
  bool has_labels_;
  Sheet sheet_;
};

}  // namespace

std::string_view RailMark::word() const {
  if (value) return "zero";
  if (!damaged && status == CellStatus::ok) return "no value";
  return damaged ? damaged_status : name_of(status);
}

bool can_show(Scale scale, double value) {
  return std::isfinite(value) && (scale == Scale::linear || value > 0);
}

void set_scales(Figure& figure, std::optional<Scale> x, std::optional<Scale> y) {
  if (!figure.x_names.empty()) return;  // stacked bars start at 0
  figure.x_scale = x.value_or(figure.x_scale);
  figure.y_scale = y.value_or(figure.y_scale);
  for (Series& series : figure.series) {
    put_back(figure, series);
    take_out(figure, series);
  }
}

std::string name_on_x(const Figure& figure, double x) {
  if (!figure.x_names.empty()) return figure.x_names.at(static_cast<std::size_t>(x));
  return figure.infinite_x == x ? "inf" : "";
}

std::string figure_csv(const Figure& figure) {
  FigureData data({}, has_labels(figure));
  data.add(figure, {});
  return data.csv();
}

std::string facets_csv(const Facets& facets) {
  FigureData data({{"panel", ""}, {"value", ""}}, std::ranges::any_of(facets.panels, has_labels));
  for (const Figure& panel : facets.panels) data.add(panel, {panel.title, panel.y_label});
  return data.csv();
}

}  // namespace attnscope::report
