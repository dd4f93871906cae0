#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table of who (row) sees whom (column), edited by click or by keyboard: arrows choose a cell,
// Space goes on to the next rule, 1 2 3 4 set none, whole, window, chunks, F2 gives a window a
// width of its own and chunks their sizes. Every edit goes through the editor, so that it can be
// undone.

#include <QTableWidget>

#include "app/gui/models/pattern_editor.h"

namespace attnscope::gui {

class PatternMatrix : public QTableWidget {
  Q_OBJECT
 public:
  explicit PatternMatrix(QWidget* parent = nullptr);
  /// Before all else: what is edited.
  void set_editor(PatternEditor& editor);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] const GroupRule& rule_at(const QModelIndex& cell) const;
  void set_rule(const QModelIndex& cell, const GroupRule& rule);
  /// `sizes` as the table writes them, "40+5".
  void set_chunks(const QModelIndex& cell, const QString& sizes);

 Q_SIGNALS:
  /// Why an edit is not possible; empty: it was.
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
  /// That shows every column.
  [[nodiscard]] int whole_width() const;

  PatternEditor* editor_ = nullptr;
};

}  // namespace attnscope::gui
