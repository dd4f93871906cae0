// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/heat_mark.h"

#include <QPainter>
#include <algorithm>

#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

QColor color_of(HeatState state, const QPalette& palette) {
  switch (state) {
    case HeatState::waiting:
    case HeatState::skipped:
      return faint_text(palette);
    case HeatState::running:
    case HeatState::paused:
      return palette.color(QPalette::Link);
    case HeatState::done:
      return good_text(palette);
    case HeatState::too_large:
      return is_dark(palette) ? QColor(0xe6, 0xb4, 0x4c) : QColor(0x8a, 0x5a, 0x00);
    case HeatState::wrong:
    case HeatState::crashed:
    case HeatState::timeout:
      break;
  }
  return error_text(palette);
}

QString letter_of(HeatState state) {
  switch (state) {
    case HeatState::too_large:
      return QStringLiteral("M");  // memory
    case HeatState::wrong:
      return QStringLiteral("W");
    case HeatState::crashed:
      return QStringLiteral("C");
    case HeatState::timeout:
      return QStringLiteral("T");
    default:
      return {};
  }
}

}  // namespace

void paint_heat_mark(QPainter& painter, const QRect& square, HeatState state,
                     const QPalette& palette) {
  painter.save();
  const QColor color = color_of(state, palette);
  const int side = std::min(square.width(), square.height());
  const QRect box(square.center().x() - side / 2, square.center().y() - side / 2, side, side);
  const int third = std::max(2, side / 3);
  const bool filled = state == HeatState::done || !letter_of(state).isEmpty();
  painter.setPen(QPen(color, 1));
  painter.setBrush(filled ? QBrush(color) : QBrush(palette.color(QPalette::Base)));
  painter.drawRect(box.adjusted(0, 0, -1, -1));
  if (state == HeatState::running) {
    painter.fillRect(box.adjusted(third, third, -third, -third), color);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(1, 1, -2, -2));
  } else if (state == HeatState::paused) {
    const int bar = std::max(2, side / 5);
    const QRect bars = box.adjusted(side / 4, side / 4, -(side / 4), -(side / 4));
    painter.fillRect(QRect(bars.left(), bars.top(), bar, bars.height()), color);
    painter.fillRect(QRect(bars.right() - bar + 1, bars.top(), bar, bars.height()), color);
  } else if (state == HeatState::skipped) {
    painter.drawLine(box.bottomLeft(), box.topRight());
  } else if (const QString letter = letter_of(state); !letter.isEmpty()) {
    QFont font = painter.font();
    font.setBold(true);
    font.setPixelSize(std::max(6, (side * 3) / 4));
    painter.setFont(font);
    painter.setPen(palette.color(QPalette::Base));
    painter.drawText(box, Qt::AlignCenter, letter);
  }
  painter.restore();
}

}  // namespace attnscope::gui
