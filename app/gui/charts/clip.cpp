// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/clip.h"

#include <algorithm>
#include <array>

namespace attnscope::charts {

// Liang and Barsky's: the part of the line's parameter that all four borders leave.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& frame) {
  struct Border {
    double step, room;
  };
  const std::array<Border, 4> borders{{{-line.dx(), line.x1() - frame.left()},
                                       {line.dx(), frame.right() - line.x1()},
                                       {-line.dy(), line.y1() - frame.top()},
                                       {line.dy(), frame.bottom() - line.y1()}}};
  double from = 0, to = 1;
  for (const Border& border : borders) {
    if (border.step == 0) {
      if (border.room < 0) return std::nullopt;
      continue;
    }
    const double at = border.room / border.step;
    if (border.step < 0) {
      from = std::max(from, at);
    } else {
      to = std::min(to, at);
    }
  }
  if (from > to) return std::nullopt;
  return QLineF(line.pointAt(from), line.pointAt(to));
}

std::vector<QPolygonF> clipped(const QPolygonF& line, const QRectF& frame) {
  std::vector<QPolygonF> parts;
  bool joined = false;  // the next piece goes on where the last one ended
  for (qsizetype i = 0; i + 1 < line.size(); ++i) {
    const QLineF whole(line[i], line[i + 1]);
    const std::optional<QLineF> inside = clipped(whole, frame);
    if (!inside) {
      joined = false;
      continue;
    }
    if (!joined) parts.push_back(QPolygonF{inside->p1()});
    parts.back() << inside->p2();
    joined = inside->p2() == whole.p2();
  }
  return parts;
}

bool is_inside(QPointF point, const QRectF& frame) {
  constexpr double rounding = 1e-6;
  return frame.adjusted(-rounding, -rounding, rounding, rounding).contains(point);
}

}  // namespace attnscope::charts
