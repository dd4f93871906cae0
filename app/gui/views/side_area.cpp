// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/side_area.h"

#include <QEvent>
#include <QScrollBar>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/views/kept.h"
#include "app/gui/views/theme.h"

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

QSplitter* with_sides(const char* name, SideArea* left, QWidget* middle, SideArea* right,
                      const QList<int>& widths) {
  auto* framed = new QWidget;
  auto* layout = new QVBoxLayout(framed);
  layout->setContentsMargins(space::gap, 0, space::gap, 0);
  layout->addWidget(middle);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QLatin1String(name));
  split->setChildrenCollapsible(false);
  for (QWidget* part : std::initializer_list<QWidget*>{left, framed, right}) {
    split->addWidget(part);
    split->setStretchFactor(split->count() - 1, part == framed ? 1 : 0);
  }
  split->setSizes(widths);
  keep_sizes(*split);
  return split;
}

}  // namespace attnscope::gui
