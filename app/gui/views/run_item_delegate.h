#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A run in the list: its name and tags, a line about it, a dot for its status and a bar while it is
// live; a table of a paper has a square instead of the dot. The name is typed where it stands.

#include <QStyledItemDelegate>

namespace attnscope::gui {

class RunItemDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;
};

}  // namespace attnscope::gui
