#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Compare: the runs on the left, the selected one next to them, the live run's progress on
// top.

#include "app/gui/session/snapshot.h"
#include "app/gui/views/page.h"

class QPushButton;

namespace attnscope::gui {

class AnswerPanel;
class SideBySideView;
class ComparisonView;
class MessageBar;
class ProgressStrip;
class PublishedView;
class RunListModel;
class RunListPanel;
class RunView;
class StoreThread;

class ComparePage : public Page {
  Q_OBJECT
 public:
  ComparePage(RunListModel* runs, const StoreThread& store);

  [[nodiscard]] QStringList baselines() const override;
  [[nodiscard]] QString baseline() const override;
  void set_baseline(const QString& baseline) override;
  [[nodiscard]] bool has_table() const override;
  void copy_table(report::TableFormat format) override;
  [[nodiscard]] bool has_figure() const override;
  void export_figure() override;
  [[nodiscard]] QString run_text() const override;
  void run() override;
  [[nodiscard]] QList<PageActions> page_actions() const override;

  /// Called after the list changed: keeps the selection, or makes a first one.
  void runs_changed();
  void show_run(const RunPointer& run);
  void show_comparison(const ComparisonPointer& comparison);
  void show_published(const PublishedPointer& runs);
  /// These runs were moved to the trash; offers to restore them.
  void show_trashed(const QStringList& uuids, const QString& sentence);
  void show_starting();
  void choose_run(const QString& uuid);
  /// The store cannot be used; the page shows the reason and offers to retry.
  void show_refused(const QString& sentence);
  void show_store_opened();
  /// Another process holds the database; everything else continues to work.
  void show_waiting(const QString& sentence);
  void show_lock_released();

  [[nodiscard]] MessageBar* messages() const { return messages_; }
  [[nodiscard]] ProgressStrip* progress() const { return progress_; }
  [[nodiscard]] RunListPanel* run_list() const { return run_list_; }
  [[nodiscard]] PublishedView* published_view() const { return published_view_; }
  [[nodiscard]] SideBySideView* side_by_side_view() const { return side_by_side_view_; }
  /// Shows that a run is read-only or in the trash.
  [[nodiscard]] MessageBar* place() const { return place_; }
  [[nodiscard]] ComparisonView* comparison_view() const { return comparison_view_; }
  [[nodiscard]] RunView* run_view() const { return run_view_; }
  [[nodiscard]] AnswerPanel* answer() const { return answer_; }
  [[nodiscard]] QPushButton* quick_button() const { return quick_; }

 Q_SIGNALS:
  void quick_sweep_requested();

 private:
  QWidget* build_side();
  QWidget* build_empty();
  QWidget* build_run();
  /// Shows one of the views of the page's middle and hides the others.
  void show_body(QWidget* shown);
  void show_table(const QString& id);
  void show_first_start();
  /// Shows the progress of the selected run, below its title.
  void show_progress();

  const StoreThread& store_;
  RunListModel* runs_;
  QPushButton* quick_ = nullptr;
  QPushButton* look_ = nullptr;
  MessageBar* messages_;
  ProgressStrip* progress_;
  RunListPanel* run_list_;
  RunView* run_view_;
  AnswerPanel* answer_;
  SideBySideView* side_by_side_view_;
  MessageBar* place_;
  PublishedView* published_view_;
  ComparisonView* comparison_view_;
  QWidget* empty_;
  QWidget* run_body_;        // the run view and its surroundings
  QWidget* body_ = nullptr;  // the visible view
  bool is_empty_ = false;    // the list of the user's own runs has been read and is empty
  bool started_ = false;     // a run exists or was requested, or a published one was shown instead
  QString waiting_;          // the message on the bar while the database is locked
};

}  // namespace attnscope::gui
