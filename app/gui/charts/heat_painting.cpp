// SPDX-License-Identifier: GPL-3.0-or-later
//
// How HeatView is drawn.
#include <QPainter>
#include <algorithm>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/heat_image.h"
#include "app/gui/charts/heat_labels.h"
#include "app/gui/charts/heat_view.h"

namespace attnscope::charts {

void HeatView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const ChartTheme theme = theme_of(palette());
  const ThemeColors& colors = colors_of(theme);
  painter.fillRect(rect(), colors.background);
  const double em = em_pixels();
  const QRectF map = map_rect();
  if (!title_.isEmpty()) {
    painter.setFont(figure_font(em, true));
    painter.setPen(colors.text);
    const QRectF line(0.3 * em, 0.15 * em, width() - 0.6 * em, 1.5 * em);
    painter.drawText(
        line, Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(painter.font()).elidedText(title_, Qt::ElideRight, line.width()));
  }
  if (!weights_ || image_.isNull()) {
    painter.setFont(figure_font(em));
    painter.setPen(colors.faint_text);
    painter.drawText(QRectF(rect()).adjusted(em, em, -em, -em), Qt::AlignCenter | Qt::TextWordWrap,
                     weights_ ? tr("Computing the weights.") : message_);
  } else {
    const HeatViewport seen = shown();
    const double scale = map.width() / seen.extent;
    const auto on_map = [&](const MapRegion& region) {
      return QRectF(map.left() + (static_cast<double>(region.columns.begin) - seen.column) * scale,
                    map.top() + (static_cast<double>(region.rows.begin) - seen.row) * scale,
                    static_cast<double>(region.columns.size()) * scale,
                    static_cast<double>(region.rows.size()) * scale);
    };
    painter.save();
    painter.setClipRect(map);
    painter.drawImage(on_map(image_region_), image_);
    painter.restore();
    paint_axes(painter);
    paint_marks(painter);
  }
  if (hasFocus()) {
    painter.setPen(QPen(colors.selected, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void HeatView::paint_axes(QPainter& painter) const {
  const ChartTheme theme = theme_of(palette());
  const HeatViewport seen = shown();
  const QRectF map = map_rect();
  const double away = 1.25 * strip();
  paint_token_strip(painter, {map.left(), map.top() - away, map.width(), strip()}, Qt::Horizontal,
                    *groups_, seen.column, seen.extent, theme);
  paint_token_strip(painter, {map.left() - away, map.top(), strip(), map.height()}, Qt::Vertical,
                    *groups_, seen.row, seen.extent, theme);
  const double room = label_room();
  if (room == 0 || texts_->size() != groups_->size()) return;
  const double letters = 0.85 * em_pixels();
  const double gap = 0.3 * letters;
  const QColor color = colors_of(theme).text;
  paint_token_labels(painter, {map.left(), map.top() - away - room, map.width(), room - gap},
                     Qt::Horizontal, *texts_, seen.column, seen.extent, letters, color);
  paint_token_labels(painter, {map.left() - away - room, map.top(), room - gap, map.height()},
                     Qt::Vertical, *texts_, seen.row, seen.extent, letters, color);
}

void HeatView::paint_marks(QPainter& painter) const {
  const QRectF map = map_rect();
  const QColor color = colors_of(theme_of(palette())).selected;
  painter.save();
  painter.setClipRect(map.adjusted(-1.25 * strip() - 1, -1.25 * strip() - 1, 1, 1));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, 2));
  std::vector<TokenRange> rows = chosen_rows_;
  if (band_from_ && band_to_) {
    rows = {{std::min(*band_from_, *band_to_), std::max(*band_from_, *band_to_) + 1}};
  }
  for (const TokenRange& range : rows) painter.drawRect(rows_rect(range));
  const HeatViewport seen = shown();
  const double scale = map.width() / seen.extent;
  const auto [query, key] = hovered_.value_or(marked_);
  painter.setPen(QPen(color, 1));
  if (query >= 0 && key >= 0) {
    QRectF cell = rows_rect({query, query + 1});
    cell.setLeft(map.left() + (static_cast<double>(key) - seen.column) * scale);
    cell.setWidth(scale);
    const double grow = std::max(0.0, (6 - scale) / 2);  // a speck would not be seen
    painter.drawRect(cell.adjusted(-grow, -grow, grow, grow));
  } else if (key >= 0) {
    const double x = map.left() + (static_cast<double>(key) + 0.5 - seen.column) * scale;
    painter.drawLine(QPointF(x, map.top() - 1.25 * strip()), QPointF(x, map.bottom()));
  }
  painter.restore();
}

}  // namespace attnscope::charts
