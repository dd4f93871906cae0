#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table of who sees whom, edited by click or by keyboard: arrows choose a cell, Space goes on
// to the next rule, 1 2 3 set none, whole, window, F2 gives the window a width of its own.

#include <QStyledItemDelegate>
#include <QTableView>

#include "app/gui/models/pattern_matrix_model.h"

namespace attnscope::gui {

class PatternMatrix : public QTableView {
  Q_OBJECT
 public:
  explicit PatternMatrix(PatternMatrixModel* model, QWidget* parent = nullptr);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void set_kind(const QModelIndex& cell, GroupRule::Kind kind);
  void fit();
};

/// Paints a cell in its pair's colour and edits a window's own width.
class PatternMatrixDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  [[nodiscard]] QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                                      const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model,
                    const QModelIndex& index) const override;
};

}  // namespace attnscope::gui
