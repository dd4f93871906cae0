#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A check box in the middle of a cell; a click anywhere in the cell, or Space, turns it. A pair
// that cannot be measured has a struck-out one.

#include <QStyledItemDelegate>

namespace attnscope::gui {

class CheckDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
};

}  // namespace attnscope::gui
