// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/side_area.h"

#include <QEvent>
#include <QScrollBar>
#include <algorithm>

namespace attnscope::gui {

SideArea::SideArea(QWidget* inside, const QString& name) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);
  setAccessibleName(name);
  setWidget(inside);
}

bool SideArea::eventFilter(QObject* watched, QEvent* event) {
  const bool filtered = QScrollArea::eventFilter(watched, event);
  if (watched == widget() && event->type() == QEvent::LayoutRequest) {
    constexpr int widest = 284;  // of 1000: with the rail and the other side, the middle has 350
    setMinimumWidth(std::min(
        widest, widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width()));
  }
  return filtered;
}

}  // namespace attnscope::gui
