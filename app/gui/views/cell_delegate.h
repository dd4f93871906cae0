#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Draws the cell table: each contender with the line and marker it has in the charts, failures and
// verdicts in colours that also read as words.

#include <QStyledItemDelegate>

#include "app/gui/charts/contender_style.h"

namespace attnscope::gui {

class CellDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void set_contenders(const std::vector<std::string>& ids);
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  mutable charts::ContenderStyles styles_;
};

}  // namespace attnscope::gui
