#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Compare: the runs on the left, the chosen one beside them, the live one's progress on top.

#include <QWidget>

#include "app/gui/session/snapshot.h"

class QPushButton;
class QStackedWidget;

namespace attnscope::gui {

class MessageBar;
class ProgressStrip;
class RunListModel;
class RunListPanel;
class RunView;

class ComparePage : public QWidget {
  Q_OBJECT
 public:
  explicit ComparePage(RunListModel* runs, QWidget* parent = nullptr);

  /// After the list changed: keeps the choice, or makes a first one.
  void runs_changed();
  void show_starting();
  void choose_run(const QString& uuid);
  /// The store cannot be used; the page says why and offers to try again.
  void show_refused(const QString& sentence);
  void show_store_opened();
  /// Another process holds the database; everything else goes on meanwhile.
  void show_waiting(const QString& sentence);
  void show_waited();

  [[nodiscard]] MessageBar* messages() const { return messages_; }
  [[nodiscard]] ProgressStrip* progress() const { return progress_; }
  [[nodiscard]] RunListPanel* run_list() const { return run_list_; }
  [[nodiscard]] RunView* run_view() const { return run_view_; }
  [[nodiscard]] QPushButton* new_run_button() const { return new_run_; }
  [[nodiscard]] QPushButton* quick_button() const { return quick_; }

 Q_SIGNALS:
  void new_run_asked();
  void quick_sweep_asked();
  void open_again_asked();

 private:
  QWidget* build_side();
  QWidget* build_empty();

  RunListModel* runs_;
  QPushButton* new_run_;
  QPushButton* quick_;
  MessageBar* messages_;
  ProgressStrip* progress_;
  RunListPanel* run_list_;
  RunView* run_view_;
  QWidget* empty_;
  QStackedWidget* body_;
  QString waiting_;  // the sentence on the bar while the database is locked
};

}  // namespace attnscope::gui
