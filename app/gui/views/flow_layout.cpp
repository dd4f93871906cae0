// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/flow_layout.h"

#include <QWidget>
#include <algorithm>

#include "app/gui/views/theme.h"

namespace attnscope::gui {

FlowLayout::FlowLayout(QWidget* parent) : QLayout(parent) {
  setContentsMargins(0, 0, 0, 0);
  if (parent == nullptr) return;
  for (QWidget* part : parent->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    addWidget(part);
}

FlowLayout::~FlowLayout() {
  qDeleteAll(items_);
}

void FlowLayout::addItem(QLayoutItem* item) {
  items_.append(item);
}

int FlowLayout::count() const {
  return static_cast<int>(items_.size());
}

QLayoutItem* FlowLayout::itemAt(int index) const {
  return items_.value(index);
}

QLayoutItem* FlowLayout::takeAt(int index) {
  return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
}

int FlowLayout::heightForWidth(int width) const {
  return arrange(QRect(0, 0, width, 0), false);
}

QSize FlowLayout::sizeHint() const {
  int width = 0, height = 0;
  for (const QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    const QSize hint = item->sizeHint();
    width += hint.width() + (width > 0 ? space::gap : 0);
    height = std::max(height, hint.height());
  }
  return {width, height};
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  }
  // Splitters and scroll areas use only this size, not heightForWidth().
  if (geometry().width() > 0) size.setHeight(heightForWidth(geometry().width()));
  return size;
}

void FlowLayout::setGeometry(const QRect& rect) {
  const bool other_width = rect.width() != geometry().width();
  QLayout::setGeometry(rect);
  arrange(rect, true);
  if (other_width && parentWidget() != nullptr) parentWidget()->updateGeometry();
}

int FlowLayout::arrange(const QRect& rect, bool place) const {
  const auto end_line = [&](QList<QLayoutItem*>& line, int top, int height) {
    int x = rect.left();
    for (QLayoutItem* item : line) {
      const int width = std::min(item->sizeHint().width(), rect.width());
      if (place) item->setGeometry(QRect(x, top, width, height));
      x += width + space::gap;
    }
    line.clear();
  };
  QList<QLayoutItem*> line;
  int y = rect.top(), width = 0, height = 0;
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    const QSize hint = item->sizeHint();
    if (!line.isEmpty() && width + space::gap + hint.width() > rect.width()) {
      end_line(line, y, height);
      y += height + space::gap / 2;
      width = height = 0;
    }
    width += hint.width() + (line.isEmpty() ? 0 : space::gap);
    height = std::max(height, hint.height());
    line.append(item);
  }
  end_line(line, y, height);
  return y + height - rect.top();
}

}  // namespace attnscope::gui
