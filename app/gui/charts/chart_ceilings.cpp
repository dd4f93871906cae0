// SPDX-License-Identifier: GPL-3.0-or-later
//
// The roofline of ChartDrawing: flat ceilings and slanted ones, each with its words along it.
#include <QFontMetricsF>
#include <QTransform>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/clip.h"
#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

constexpr int steps = 64;  // of a slanted line, which is bent unless both axes are logarithmic

/// Where the flat ceilings begin and the slanted ones end.
struct Ridge {
  double highest_flat = 0;  // 0: none, and nothing ends the slanted ones
  double steepest = 0;
};

Ridge ridge_of(const report::Figure& figure) {
  Ridge ridge;
  for (const report::Ceiling& ceiling : figure.ceilings) {
    if (ceiling.per_x) {
      ridge.steepest = std::max(ridge.steepest, ceiling.rate);
    } else {
      ridge.highest_flat = std::max(ridge.highest_flat, ceiling.rate);
    }
  }
  return ridge;
}

}  // namespace

void ChartDrawing::place_ceilings(const report::Figure& figure) {
  if (figure.ceilings.empty() || y_axis_.ticks().empty()) return;
  const Ridge ridge = ridge_of(figure);
  std::vector<QPolygonF> taken;
  for (const report::Ceiling& ceiling : figure.ceilings) {
    QPolygonF line;
    // From the line of the fastest memory on to the right, or up to the highest flat line.
    const double from = !ceiling.per_x && ridge.steepest > 0 ? ceiling.rate / ridge.steepest : 0;
    const double to = ceiling.per_x && ridge.highest_flat > 0
                          ? ridge.highest_flat / ceiling.rate
                          : std::numeric_limits<double>::infinity();
    const double first = std::max(x_axis_.low(), from), last = std::min(x_axis_.high(), to);
    if (first >= last || !AxisScale::can_show(x_axis_.kind(), first)) continue;
    const double start = x_axis_.place(first), end = x_axis_.place(last);
    for (int i = 0; i <= steps; ++i) {
      const double x = x_axis_.value_at(start + (end - start) * i / steps);
      const double y = ceiling.per_x ? ceiling.rate * x : ceiling.rate;
      if (AxisScale::can_show(y_axis_.kind(), y)) line << place(x, y);
    }
    DrawnCeiling drawn;
    drawn.text = QString::fromStdString(ceiling.text);
    drawn.lines = clipped(line, plot_);
    if (drawn.lines.empty()) continue;
    place_words(drawn, taken);
    ceilings_.push_back(std::move(drawn));
  }
}

// The words slide along their line, from its upper end down, above it or else below it, to the
// first place where they lie in the plot and across no other words.
void ChartDrawing::place_words(DrawnCeiling& ceiling, std::vector<QPolygonF>& taken) const {
  const double em = page_.em;
  const QFontMetricsF metrics(figure_font(em * small_text));
  const double width = metrics.horizontalAdvance(ceiling.text);
  const QRectF box(0, -metrics.ascent(), width, metrics.ascent() + metrics.descent());
  const QLineF whole(ceiling.lines.front().first(), ceiling.lines.back().last());
  if (whole.length() < width) return;
  const double angle = -whole.angle();
  const double above = -0.1 * em - metrics.descent(), below = 0.1 * em + metrics.ascent();
  constexpr int tries = 24;
  for (int i = 0; i < 2 * tries; ++i) {
    const int step = i / 2;
    const double t = (1 - width / whole.length()) * (1 - static_cast<double>(step) / tries);
    QTransform turn;
    const QPointF on_line = whole.pointAt(t);
    turn.translate(on_line.x(), on_line.y());
    turn.rotate(angle);
    turn.translate(0, i % 2 == 0 ? above : below);
    const QPolygonF corners = turn.map(QPolygonF(box));
    const bool in_plot = std::ranges::all_of(
        corners, [&](const QPointF& corner) { return is_inside(corner, plot_); });
    const bool free = std::ranges::none_of(
        taken, [&](const QPolygonF& other) { return other.intersects(corners); });
    if (!in_plot || !free) continue;
    ceiling.text_start = turn.map(QPointF(0, 0));
    ceiling.text_angle = angle;
    ceiling.has_text = true;
    taken.push_back(corners);
    return;
  }
}

}  // namespace attnscope::charts
