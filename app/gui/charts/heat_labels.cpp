// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_labels.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {

QString token_label(const std::string& token) {
  constexpr int longest = 14;
  const QString label = QString::fromStdString(token).simplified();
  return label.size() > longest ? label.left(longest - 1) + QChar(0x2026) : label;
}

void paint_token_labels(QPainter& painter, const QRectF& room, Qt::Orientation orientation,
                        const std::vector<std::string>& tokens, double first, double extent,
                        double letters, const QColor& color) {
  const bool down = orientation == Qt::Vertical;
  const double scale = (down ? room.height() : room.width()) / extent;
  const auto step = std::max<std::int64_t>(1, std::llround(std::ceil(1.1 * letters / scale)));
  const double length = down ? room.width() : room.height();
  const auto end = std::min(static_cast<double>(tokens.size()), first + extent);
  painter.save();
  painter.setFont(figure_font(letters));
  painter.setPen(color);
  const QFontMetricsF metrics(painter.font());
  // The same tokens are written while the map is moved.
  auto at = static_cast<std::int64_t>(std::ceil(first / static_cast<double>(step))) * step;
  for (; static_cast<double>(at) + 0.5 < end; at += step) {
    const QString label = metrics.elidedText(token_label(tokens[static_cast<std::size_t>(at)]),
                                             Qt::ElideRight, length);
    const double middle = (static_cast<double>(at) + 0.5 - first) * scale;
    painter.save();
    if (down) {
      painter.translate(room.left(), room.top() + middle);
    } else {
      painter.translate(room.left() + middle, room.bottom());
      painter.rotate(-90);
    }
    painter.drawText(QRectF(0, -letters, length, 2 * letters),
                     Qt::AlignVCenter | (down ? Qt::AlignRight : Qt::AlignLeft), label);
    painter.restore();
  }
  painter.restore();
}

}  // namespace attnscope::charts
