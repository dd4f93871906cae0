// SPDX-License-Identifier: GPL-3.0-or-later
//
// The painting half of ChartDrawing.
#include <algorithm>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/chart_plot.h"
#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/marker.h"
#include "app/gui/charts/text_lines.h"

namespace attnscope::charts {
namespace {

constexpr double cap_width = 0.4;  // em

}  // namespace

void ChartDrawing::paint(QPainter& painter, int focused_series) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.fillRect(rect(), colors.background);
  paint_texts(painter);
  paint_legend(painter, focused_series);
  if (!page_.plot) return;
  if (empty_) {
    painter.setFont(figure_font(page_.em));
    painter.setPen(colors.faint_text);
    painter.drawText(plot_, Qt::AlignCenter | Qt::TextWordWrap, page_.placeholder);
    return;
  }
  paint_rail(painter);
  paint_plot(*this, painter);
  if (y_axis_.ticks().empty()) {
    painter.setPen(colors.faint_text);
    painter.drawText(plot_, Qt::AlignCenter | Qt::TextWordWrap, without_values_);
  }
}

void ChartDrawing::paint_minor_grid(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setPen(QPen(colors.minor_grid, hair_width * page_.em));
  for (const double value : y_axis_.minor_ticks()) {  // none of a zoomed axis
    const double y = plot_.bottom() - y_axis_.fraction(value) * plot_.height();
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
  }
  painter.setPen(QPen(colors.axis, 1.3 * hair_width * page_.em));
  for (const double value : x_axis_.minor_ticks()) {
    const double x = plot_.left() + x_axis_.fraction(value) * plot_.width();
    painter.drawLine(QPointF(x, plot_.bottom()), QPointF(x, plot_.bottom() + 0.18 * page_.em));
  }
}

void ChartDrawing::paint_below_lines(QPainter& painter) const {
  if (line_at_ && *line_at_ >= y_axis_.low() && *line_at_ <= y_axis_.high()) {
    const double y = plot_.bottom() - y_axis_.fraction(*line_at_) * plot_.height();
    painter.setPen(
        QPen(colors_of(page_.theme).faint_text, 0.6 * line_width * page_.em, Qt::DashLine));
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
  }
  paint_ceilings(painter);
  paint_marks(painter);
  for (const DrawnSeries& series : series_) {
    if (series.visible) paint_intervals(painter, series);
  }
}

void ChartDrawing::paint_markers(QPainter& painter) const {
  for (const DrawnSeries& series : series_) {
    if (!series.visible) continue;
    for (const DrawnPoint& point : series.points) {
      draw_marker(painter, series.style.marker, point.position, marker_size * page_.em,
                  series.style.color(page_.theme), colors_of(page_.theme).background);
    }
  }
}

void ChartDrawing::paint_texts(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  painter.setPen(colors.text);
  if (!title_rect_.isEmpty()) draw_lines(painter, figure_font(em, true), title_rect_, title_);
  if (!empty_ && page_.plot) {
    draw_lines(painter, figure_font(em), y_label_rect_, y_label_);
    painter.setFont(figure_font(em));
    painter.drawText(QRectF(plot_.left(), plot_.bottom() + 1.65 * em, plot_.width(), 1.5 * em),
                     Qt::AlignHCenter | Qt::AlignTop, x_label_);
  }
  painter.setPen(colors.faint_text);
  const QFont small_font = figure_font(em * small_text);
  if (!note_.isEmpty()) draw_lines(painter, small_font, note_rect_, note_);
  if (!page_.caption.isEmpty()) draw_lines(painter, small_font, caption_rect_, page_.caption);
}

void ChartDrawing::paint_rail(QPainter& painter) const {
  if (rail_lanes_.empty()) return;
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  painter.fillRect(rail_rect_, colors.rail);
  painter.setFont(figure_font(em * small_text));
  for (const RailLane& lane : rail_lanes_) {
    painter.setPen(QPen(colors.grid, hair_width * em));
    painter.drawLine(QPointF(rail_rect_.left(), lane.y), QPointF(rail_rect_.right(), lane.y));
    painter.setPen(colors.faint_text);
    painter.drawText(
        QRectF(page_.origin.x(), lane.y - em, plot_.left() - page_.origin.x() - 0.4 * em, 2 * em),
        Qt::AlignRight | Qt::AlignVCenter, lane.label);
    const DrawnSeries& series = series_[static_cast<std::size_t>(lane.series)];
    for (const DrawnPoint& mark : series.rail) {
      draw_marker(painter, series.style.marker, mark.position, marker_size * em,
                  series.style.color(page_.theme), colors.rail);
    }
  }
}

void ChartDrawing::paint_ceilings(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setFont(figure_font(page_.em * small_text));
  painter.setBrush(Qt::NoBrush);
  for (const DrawnCeiling& ceiling : ceilings_) {
    painter.setPen(QPen(colors.axis, 0.7 * line_width * page_.em, Qt::SolidLine, Qt::FlatCap));
    for (const QPolygonF& line : ceiling.lines) painter.drawPolyline(line);
  }
  painter.setPen(colors.faint_text);
  for (const DrawnCeiling& ceiling : ceilings_) {
    if (!ceiling.has_text) continue;
    painter.save();
    painter.translate(ceiling.text_start);
    painter.rotate(ceiling.text_angle);
    painter.drawText(QPointF(0, 0), ceiling.text);
    painter.restore();
  }
}

void ChartDrawing::paint_marks(QPainter& painter) const {
  painter.setFont(figure_font(page_.em * small_text));
  for (const DrawnMark& mark : marks_) {
    const QColor color = mark.style.color(page_.theme);
    painter.setPen(QPen(color, hair_width * page_.em, Qt::DotLine));
    painter.drawLine(mark.line);
    if (mark.text_rect.isEmpty()) continue;
    painter.fillRect(mark.text_rect, colors_of(page_.theme).background);
    painter.setPen(color);
    painter.drawText(mark.text_rect, Qt::AlignLeft | Qt::AlignVCenter, mark.text);
  }
}

void ChartDrawing::paint_intervals(QPainter& painter, const DrawnSeries& series) const {
  const double em = page_.em;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(
      QPen(series.style.color(page_.theme), 0.75 * line_width * em, Qt::SolidLine, Qt::FlatCap));
  const QPointF cap(cap_width * em / 2, 0);
  for (const QLineF& interval : series.intervals) {
    painter.drawLine(interval);
    for (const QPointF end : {interval.p1(), interval.p2()}) {
      const bool is_cut = std::ranges::any_of(
          series.arrows, [&](const QPolygonF& arrow) { return arrow[1] == end; });
      if (!is_cut) painter.drawLine(end - cap, end + cap);
    }
  }
  for (const QPolygonF& arrow : series.arrows) painter.drawPolyline(arrow);
}

void ChartDrawing::paint_legend(QPainter& painter, int focused_series) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  for (const LegendEntry& entry : legend_) {
    const DrawnSeries& series = series_[static_cast<std::size_t>(entry.series)];
    const double y = entry.text_rect.top() + 0.68 * em;
    const double left = entry.rect.left();
    // A hidden series keeps its colour and loses its strength.
    painter.setOpacity(series.visible ? 1.0 : 0.35);
    painter.setPen(series.style.pen(page_.theme, line_width * em));
    painter.drawLine(QPointF(left, y), QPointF(left + 2.5 * em, y));
    draw_marker(painter, series.style.marker, QPointF(left + 1.25 * em, y), marker_size * em,
                series.style.color(page_.theme), colors.background);
    painter.setOpacity(1.0);
    painter.setPen(series.visible ? colors.text : colors.faint_text);
    draw_lines(painter, figure_font(em), entry.text_rect, entry.text);
    if (entry.series == focused_series) {
      painter.setPen(QPen(colors.selected, hair_width * em));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(entry.rect.adjusted(-0.2 * em, 0, 0.1 * em, 0));
    }
  }
}

}  // namespace attnscope::charts
