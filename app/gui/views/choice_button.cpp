// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/choice_button.h"

#include <QFontMetrics>
#include <QPainter>

namespace attnscope::gui {

ChoiceButton::ChoiceButton(QWidget* parent) : QToolButton(parent) {
  setCheckable(true);
  setFocusPolicy(Qt::TabFocus);
}

QSize ChoiceButton::sizeHint() const {
  const QFontMetrics metrics(font());
  return {metrics.horizontalAdvance(text()) + 2 * metrics.averageCharWidth() + 8,
          metrics.height() + 12};
}

void ChoiceButton::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const QPalette colors = palette();
  const auto state = isEnabled() ? QPalette::Active : QPalette::Disabled;
  const bool on = isChecked() && isEnabled();
  painter.setPen(colors.color(hasFocus() ? QPalette::Link : QPalette::Mid));
  painter.setBrush(colors.brush(on ? QPalette::Highlight : QPalette::Button));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.setPen(colors.color(state, on ? QPalette::HighlightedText : QPalette::ButtonText));
  painter.drawText(rect(), Qt::AlignCenter, text());
}

}  // namespace attnscope::gui
