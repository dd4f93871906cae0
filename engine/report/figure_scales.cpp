// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/report/figure.h"

namespace attnscope::report {
namespace {

constexpr std::string_view not_on_a_log_axis =
    "its value is 0, which a logarithmic axis cannot show";

/// Sorted by x where the figure runs along it.
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

}  // namespace

bool can_show(Scale scale, double value) {
  return std::isfinite(value) && (scale == Scale::linear || value > 0);
}

void set_scales(Figure& figure, std::optional<Scale> x, std::optional<Scale> y) {
  figure.x_scale = x.value_or(figure.x_scale);
  figure.y_scale = y.value_or(figure.y_scale);
  for (Series& series : figure.series) {
    put_back(figure, series);
    take_out(figure, series);
  }
}

}  // namespace attnscope::report
