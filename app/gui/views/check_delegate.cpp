// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/check_delegate.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>

namespace attnscope::gui {

void CheckDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  QStyleOptionViewItem ground = option;
  initStyleOption(&ground, index);
  ground.features.setFlag(QStyleOptionViewItem::HasCheckIndicator, false);
  const QStyle* style = QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &ground, painter, option.widget);

  QStyleOptionButton box;
  const int side = style->pixelMetric(QStyle::PM_IndicatorWidth);
  box.rect = QStyle::alignedRect(option.direction, Qt::AlignCenter, QSize(side, side), option.rect);
  box.palette = option.palette;
  box.state = QStyle::State_Enabled;
  const bool checked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
  box.state |= checked ? QStyle::State_On : QStyle::State_Off;
  style->drawPrimitive(QStyle::PE_IndicatorCheckBox, &box, painter, option.widget);
}

bool CheckDelegate::editorEvent(QEvent* event, QAbstractItemModel* model,
                                const QStyleOptionViewItem&, const QModelIndex& index) {
  bool turn = false;
  if (event->type() == QEvent::MouseButtonRelease) {
    turn = static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
  } else if (event->type() == QEvent::KeyPress) {
    turn = static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
  }
  if (!turn) return false;
  const bool checked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
  return model->setData(index, checked ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

}  // namespace attnscope::gui
