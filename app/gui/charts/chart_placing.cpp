// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of ChartDrawing that puts values, rail marks and crossovers where they belong.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/clip.h"
#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

/// Contender, the cell's label where it has one, and where it lies along x.
QString head_of(const report::Figure& figure, const report::Series& series, double x,
                const std::string& label) {
  QString text = QString::fromUtf8(series.name);
  if (!label.empty()) text += QLatin1Char('\n') + QString::fromUtf8(label);
  return text +
         QStringLiteral("\n%1: %2").arg(QString::fromUtf8(figure.x_label), number_text(x, 6));
}

QString point_text(const report::Figure& figure, const report::Series& series,
                   const report::Point& point) {
  QString value = number_text(point.y);
  if (point.low < point.high) {
    value += QStringLiteral("  [%1, %2]").arg(number_text(point.low), number_text(point.high));
  }
  return QStringLiteral("%1\n%2: %3")
      .arg(head_of(figure, series, point.x, point.label), QString::fromUtf8(figure.y_label), value);
}

QString rail_text(const report::Figure& figure, const report::Series& series,
                  const report::RailMark& mark) {
  QString text = head_of(figure, series, mark.x, mark.label) + QLatin1Char('\n') +
                 QString::fromUtf8(mark.word());
  if (!mark.reason.empty()) text += QStringLiteral(": ") + QString::fromUtf8(mark.reason);
  return text;
}

}  // namespace

QPointF ChartDrawing::place(double x, double y) const {
  return {plot_.left() + x_axis_.place(x) * plot_.width(),
          plot_.bottom() - y_axis_.place(y) * plot_.height()};
}

bool ChartDrawing::is_shown_along_x(double x) const {
  constexpr double rounding = 1e-9;
  if (!AxisScale::can_show(x_axis_.kind(), x)) return false;
  const double place = x_axis_.place(x);
  return place >= -rounding && place <= 1 + rounding;
}

void ChartDrawing::place_series(const report::Figure& figure) {
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const report::Series& series = figure.series[s];
    DrawnSeries& drawn = series_[s];
    QPolygonF line;
    const auto end_line = [&] {
      for (QPolygonF& part : clipped(line, plot_)) drawn.lines.push_back(std::move(part));
      line.clear();
    };
    double previous_x = 0;
    for (const report::Point& point : series.points) {
      if (!AxisScale::can_show(x_axis_.kind(), point.x) ||
          !AxisScale::can_show(y_axis_.kind(), point.y)) {
        end_line();
        continue;
      }
      const bool gap =
          figure.along_x && std::ranges::any_of(series.rail, [&](const report::RailMark& mark) {
            return mark.x > previous_x && mark.x < point.x;
          });
      if (gap) end_line();
      previous_x = point.x;
      const QPointF position = place(point.x, point.y);
      if (figure.is_joined) line << position;
      if (!is_inside(position, plot_)) continue;
      if (page_.intervals && point.low < point.high) {
        const double low =
            AxisScale::can_show(y_axis_.kind(), point.low) ? point.low : y_axis_.low();
        const QLineF whole(place(point.x, low), place(point.x, point.high));
        if (const auto interval = clipped(whole, plot_)) drawn.intervals.push_back(*interval);
        constexpr double rounding = 1e-6;
        const double half = 0.25 * page_.em;
        const auto add_arrow = [&](double edge, double inward) {
          const double x = position.x(), y = edge + inward * 1.5 * half;
          drawn.arrows.push_back(QPolygonF({{x - half, y}, {x, edge}, {x + half, y}}));
        };
        if (whole.y2() < plot_.top() - rounding) add_arrow(plot_.top(), 1);
        if (whole.y1() > plot_.bottom() + rounding || low > point.low)
          add_arrow(plot_.bottom(), -1);
      }
      drawn.points.push_back({static_cast<int>(s), static_cast<int>(drawn.points.size()), position,
                              point_text(figure, series, point), point.cell});
    }
    end_line();
  }
  part_intervals();
}

// Bars that would cover each other at one x stand side by side, the first at its place and the next
// right and left of it by turns.
void ChartDrawing::part_intervals() {
  const double step = 0.35 * page_.em, gap = 0.1 * page_.em;
  constexpr int most_steps = 6;
  std::vector<QLineF> standing;  // where bars have their place
  for (DrawnSeries& series : series_) {
    if (!series.visible) continue;
    for (QLineF& bar : series.intervals) {
      const auto is_free = [&](const QLineF& wanted) {
        return is_inside(wanted.p1(), plot_) &&
               std::ranges::none_of(standing, [&](const QLineF& other) {
                 return std::abs(other.x1() - wanted.x1()) < step / 2 &&
                        other.y2() - gap < wanted.y1() && wanted.y2() - gap < other.y1();
               });
      };
      QLineF placed = bar;
      for (int i = 1; i <= most_steps && !is_free(placed); ++i)
        placed = bar.translated((i % 2 == 1 ? 1.0 : -1.0) * std::ceil(i / 2.0) * step, 0);
      if (!is_free(placed)) placed = bar;
      for (QPolygonF& arrow : series.arrows) {
        if (arrow[1] == bar.p1() || arrow[1] == bar.p2())
          arrow.translate(placed.x1() - bar.x1(), 0);
      }
      bar = placed;
      standing.push_back(bar);
    }
  }
}

void ChartDrawing::place_rail(const report::Figure& figure) {
  for (const RailLane& lane : rail_lanes_) {
    const auto s = static_cast<std::size_t>(lane.series);
    DrawnSeries& drawn = series_[s];
    for (const report::RailMark& mark : figure.series[s].rail) {
      if (!is_shown_along_x(mark.x)) continue;
      drawn.rail.push_back({lane.series, static_cast<int>(drawn.points.size() + drawn.rail.size()),
                            QPointF(place(mark.x, y_axis_.low()).x(), lane.y),
                            rail_text(figure, figure.series[s], mark), mark.cell});
    }
  }
}

// Words stand beside their line, right of it where there is room, in the highest place that no
// other words take; where the plot has none left, the line stands alone.
void ChartDrawing::place_marks(const report::Figure& figure) {
  if (!page_.marks || y_axis_.ticks().empty()) return;
  const double em = page_.em;
  const QFontMetricsF metrics(figure_font(em * small_text));
  for (const report::Mark& mark : figure.marks) {
    const auto series = std::ranges::find(series_, mark.style_key, &DrawnSeries::key);
    if (series == series_.end() || !series->visible || !is_shown_along_x(mark.x)) continue;
    const double x = place(mark.x, y_axis_.low()).x();
    DrawnMark drawn;
    drawn.line = QLineF(x, plot_.top(), x, plot_.bottom());
    drawn.text = QString::fromUtf8(mark.text);
    drawn.style = series->style;
    const double width = metrics.horizontalAdvance(drawn.text) + 1;
    const double beside = 0.3 * em;
    const bool right = x + beside + width <= plot_.right();
    QRectF rect(right ? x + beside : x - beside - width, plot_.top() + 0.2 * em, width,
                metrics.height());
    const auto is_taken = [&] {
      return std::ranges::any_of(
          marks_, [&](const DrawnMark& other) { return other.text_rect.intersects(rect); });
    };
    while (rect.bottom() <= plot_.bottom() && is_taken()) rect.translate(0, metrics.height());
    if (rect.bottom() <= plot_.bottom() && rect.left() >= plot_.left()) drawn.text_rect = rect;
    marks_.push_back(std::move(drawn));
  }
}

}  // namespace attnscope::charts
