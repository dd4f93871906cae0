#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The sweep file itself, to be typed. A moment after the last key it is handed out to be checked;
// what is wrong stands below, and its line is marked.

#include <QTimer>
#include <QWidget>

class QPlainTextEdit;

namespace attnscope::gui {

class ProblemLabel;

class SweepFileEdit : public QWidget {
  Q_OBJECT
 public:
  explicit SweepFileEdit(QWidget* parent = nullptr);

  [[nodiscard]] QString text() const;
  /// As one step of undo; nobody is told of an edit.
  void set_text(const QString& text);
  /// "The sweep, line 3: ..." marks line 3; empty: nothing is wrong.
  void set_problem(const QString& sentence);
  /// Hands out now what would be handed out in a moment.
  void flush();
  [[nodiscard]] QPlainTextEdit* edit() const { return edit_; }

 Q_SIGNALS:
  /// By a person, and to be checked.
  void edited(const QString& text);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void mark_line();

  QPlainTextEdit* edit_;
  ProblemLabel* problem_;
  QTimer pause_;
  bool filling_ = false;
  int wrong_line_ = 0;  // from 1; 0: none
};

}  // namespace attnscope::gui
