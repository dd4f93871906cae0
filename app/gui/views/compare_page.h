#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Compare: the runs on the left, the chosen one beside them, the live one's progress on top.

#include "app/gui/session/snapshot.h"
#include "app/gui/views/page.h"

class QPushButton;

namespace attnscope::gui {

class AnswerPanel;
class BesideView;
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
  [[nodiscard]] QString run_words() const override;
  void run() override;
  [[nodiscard]] QList<PageActions> page_actions() const override;

  /// After the list changed: keeps the choice, or makes a first one.
  void runs_changed();
  void show_run(const RunPointer& run);
  void show_comparison(const ComparisonPointer& comparison);
  void show_published(const PublishedPointer& runs);
  /// These runs are in the trash now; offers to take them out again.
  void show_trashed(const QStringList& uuids, const QString& sentence);
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
  [[nodiscard]] PublishedView* published_view() const { return published_view_; }
  [[nodiscard]] BesideView* beside_view() const { return beside_view_; }
  /// Says of a run that it is read-only or lies in the trash.
  [[nodiscard]] MessageBar* place() const { return place_; }
  [[nodiscard]] ComparisonView* comparison_view() const { return comparison_view_; }
  [[nodiscard]] RunView* run_view() const { return run_view_; }
  [[nodiscard]] AnswerPanel* answer() const { return answer_; }
  [[nodiscard]] QPushButton* quick_button() const { return quick_; }

 Q_SIGNALS:
  void quick_sweep_asked();

 private:
  QWidget* build_side();
  QWidget* build_empty();
  QWidget* build_run();
  /// One of what the page's middle may show; the others go.
  void show_body(QWidget* shown);
  void show_table(const QString& id);
  void say_place(const QString& uuid);
  void show_first_start();
  /// Of the run that is looked at, beneath its title.
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
  BesideView* beside_view_;
  MessageBar* place_;
  PublishedView* published_view_;
  ComparisonView* comparison_view_;
  QWidget* empty_;
  QWidget* run_body_;        // the run with what stands around it
  QWidget* body_ = nullptr;  // the one that is shown
  bool is_empty_ = false;    // the list of one's own runs is read, and there are none
  bool started_ = false;     // a run is there, was asked for, or a published one was shown instead
  QString waiting_;          // the sentence on the bar while the database is locked
};

}  // namespace attnscope::gui
