#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table of which group (row) attends to which (column), edited by click or keyboard: arrows
// select a cell, Space switches to the next rule, 1 2 3 4 set none, whole, window, chunks, F2 edits
// a window's own width and the sizes of chunks. Every edit goes through the editor and can be
// undone.

#include <QTableWidget>

#include "app/gui/models/pattern_editor.h"

namespace attnscope::gui {

class PatternMatrix : public QTableWidget {
  Q_OBJECT
 public:
  explicit PatternMatrix(QWidget* parent = nullptr);
  /// Must be called first.
  void set_editor(PatternEditor& editor);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] const GroupRule& rule_at(const QModelIndex& cell) const;
  void set_rule(const QModelIndex& cell, const GroupRule& rule);
  /// `sizes`: in the table's notation, "40+5".
  void set_chunks(const QModelIndex& cell, const QString& sizes);

 Q_SIGNALS:
  /// Why an edit is not possible; empty: the edit succeeded.
  void refused(const QString& sentence);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void set_kind(const QModelIndex& cell, GroupRule::Kind kind);
  void set_next_kind(const QModelIndex& cell);
  void refresh();
  void fit();
  /// The width that shows every column.
  [[nodiscard]] int whole_width() const;

  PatternEditor* editor_ = nullptr;
};

}  // namespace attnscope::gui
