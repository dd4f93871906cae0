#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Draws an answer's rows: place, the contender's line and marker, its sentence over as many lines
// as it takes, with a bar in the verdict's colour, which the sentence says in words. The current
// row has its remarks beneath.

#include <QPersistentModelIndex>
#include <QStyledItemDelegate>

#include "app/gui/charts/contender_style.h"

namespace attnscope::gui {

class AnswerDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void set_contenders(const std::vector<std::string>& ids);
  /// The row that shows its remarks; invalid: none.
  void set_open(const QModelIndex& index);

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override;

 private:
  [[nodiscard]] QString remarks(const QModelIndex& index) const;
  void draw_style(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index,
                  QPointF middle) const;

  mutable charts::ContenderStyles styles_;
  QPersistentModelIndex open_;
};

}  // namespace attnscope::gui
