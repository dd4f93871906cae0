// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of RunChart that zooms and moves: ranges of the axes, never beyond what has values.
#include <algorithm>

#include "app/gui/charts/run_chart.h"

namespace attnscope::charts {
namespace {

constexpr double narrowest = 1e-3;  // of the whole axis

/// From `low` to `high`, in places of `axis`, as a part of the whole axis; nothing when it is the
/// whole.
OptionalRange part_of(const AxisScale& axis, AxisRange whole, double low, double high) {
  // In places of the whole axis, where the ends are 0 and 1.
  const double begin = axis.place(whole.low), end = axis.place(whole.high);
  double from = (low - begin) / (end - begin), to = (high - begin) / (end - begin);
  if (to - from < narrowest) {
    const double middle = (from + to) / 2;
    from = middle - narrowest / 2;
    to = middle + narrowest / 2;
  }
  if (to - from > 1 - 1e-6) return std::nullopt;
  const double shift = std::max(0.0, -from) - std::max(0.0, to - 1);
  const auto value = [&](double part) { return axis.value_at(begin + part * (end - begin)); };
  return AxisRange{value(from + shift), value(to + shift)};
}

}  // namespace

void RunChart::set_x_range(OptionalRange range) {
  if (x_range_ == range) return;
  x_range_ = range;
  invalidate();
}

void RunChart::set_y_range(OptionalRange range) {
  if (y_range_ == range) return;
  y_range_ = range;
  invalidate();
}

void RunChart::choose_ranges(OptionalRange x, OptionalRange y) {
  const bool other_x = x != x_range_, other_y = y != y_range_;
  if (!other_x && !other_y) return;
  x_range_ = x;
  y_range_ = y;
  invalidate();
  if (other_x) Q_EMIT x_range_chosen(x);
  if (other_y) Q_EMIT y_range_chosen(y);
}

void RunChart::zoom_axes(double factor, QPointF about, Axes axes) {
  if (!has_plot()) return;
  const ChartDrawing& now = drawing();
  const QRectF& plot = now.plot();
  const auto zoomed = [factor](const AxisScale& axis, AxisRange whole, double place) {
    place = std::clamp(place, 0.0, 1.0);
    return part_of(axis, whole, place - place / factor, place + (1 - place) / factor);
  };
  const double right = (about.x() - plot.left()) / plot.width();
  const double up = (plot.bottom() - about.y()) / plot.height();
  const OptionalRange x = axes == Axes::y ? x_range_ : zoomed(now.x_axis(), now.whole_x(), right);
  const OptionalRange y = axes == Axes::x ? y_range_ : zoomed(now.y_axis(), now.whole_y(), up);
  choose_ranges(x, y);
}

void RunChart::zoom(double factor, std::optional<QPointF> about) {
  zoom_axes(factor, about.value_or(drawing().plot().center()), Axes::both);
}

void RunChart::move_view(double right, double up) {
  if (!has_plot() || !is_zoomed()) return;
  const ChartDrawing& now = drawing();
  choose_ranges(x_range_ ? part_of(now.x_axis(), now.whole_x(), right, 1 + right) : x_range_,
                y_range_ ? part_of(now.y_axis(), now.whole_y(), up, 1 + up) : y_range_);
}

void RunChart::reset_zoom() {
  choose_ranges(std::nullopt, std::nullopt);
}

// A frame that is flat in one direction zooms along the other alone.
void RunChart::zoom_into(const QRectF& frame) {
  if (!has_plot()) return;
  const ChartDrawing& now = drawing();
  const QRectF plot = now.plot();
  // Not intersected(): of a frame without height it would leave nothing.
  const QRectF part(
      QPointF(std::max(frame.left(), plot.left()), std::max(frame.top(), plot.top())),
      QPointF(std::min(frame.right(), plot.right()), std::min(frame.bottom(), plot.bottom())));
  const double least = now.page().em;
  const bool wide = part.width() >= least, high = part.height() >= least;
  if (!wide && !high) return;
  const auto right = [&](double x) { return (x - plot.left()) / plot.width(); };
  const auto up = [&](double y) { return (plot.bottom() - y) / plot.height(); };
  const OptionalRange x =
      wide ? part_of(now.x_axis(), now.whole_x(), right(part.left()), right(part.right()))
           : x_range_;
  const OptionalRange y =
      high ? part_of(now.y_axis(), now.whole_y(), up(part.bottom()), up(part.top())) : y_range_;
  choose_ranges(x, y);
}

}  // namespace attnscope::charts
