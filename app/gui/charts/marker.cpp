// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/marker.h"

#include <QPolygonF>
#include <cmath>
#include <initializer_list>

namespace attnscope::charts {
namespace {

QPolygonF polygon(QPointF center, double radius, std::initializer_list<QPointF> corners) {
  QPolygonF result;
  for (const QPointF& corner : corners) result << center + corner * radius;
  return result;
}

}  // namespace

void draw_marker(QPainter& painter, Marker marker, QPointF center, double size, const QColor& color,
                 const QColor& background) {
  const double r = size / 2;
  const double half = r * std::sqrt(M_PI) / 2;  // a square of the circle's area
  const double stroke = size * 0.2;
  const bool open =
      marker == Marker::ring || marker == Marker::open_square || marker == Marker::open_diamond;
  const bool lines = marker == Marker::cross || marker == Marker::plus;
  painter.setPen(open || lines ? QPen(color, stroke, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin)
                               : QPen(Qt::NoPen));
  painter.setBrush(open ? QBrush(background) : QBrush(color));
  const double inset = open ? stroke / 2 : 0;
  const QPointF half_square(half - inset, half - inset);
  switch (marker) {
    case Marker::circle:
    case Marker::ring:
      painter.drawEllipse(center, r - inset, r - inset);
      break;
    case Marker::square:
    case Marker::open_square:
      painter.drawRect(QRectF(center - half_square, center + half_square));
      break;
    case Marker::diamond:
    case Marker::open_diamond:
      painter.drawPolygon(
          polygon(center, (r - inset * 0.7) * 1.15, {{0, -1}, {1, 0}, {0, 1}, {-1, 0}}));
      break;
    case Marker::triangle_up:
      painter.drawPolygon(polygon(center, r * 1.2, {{0, -1}, {0.9, 0.65}, {-0.9, 0.65}}));
      break;
    case Marker::triangle_down:
      painter.drawPolygon(polygon(center, r * 1.2, {{0, 1}, {0.9, -0.65}, {-0.9, -0.65}}));
      break;
    case Marker::cross:
      painter.drawLine(center + QPointF(-half, -half), center + QPointF(half, half));
      painter.drawLine(center + QPointF(-half, half), center + QPointF(half, -half));
      break;
    case Marker::plus:
      painter.drawLine(center + QPointF(-r, 0), center + QPointF(r, 0));
      painter.drawLine(center + QPointF(0, -r), center + QPointF(0, r));
      break;
  }
}

}  // namespace attnscope::charts
