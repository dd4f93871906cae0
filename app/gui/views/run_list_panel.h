#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The runs on the left: the user's own, published ones, and the trash; with a search by words and
// tags. Names, tags and notes are edited in place; all other actions are in the menu of "⋯" and the
// context menu.

#include <QWidget>
#include <functional>
#include <memory>
#include <vector>

#include "app/gui/models/run_list_model.h"

class QAction;
class QLineEdit;
class QListView;
class QMenu;
class QTabBar;
class QToolButton;

namespace attnscope::gui {

class RunNotes;
class StoreThread;
namespace Ui {
class RunListPanel;
}

class RunListPanel : public QWidget {
  Q_OBJECT
 public:
  enum Section { runs_section, published_section, trash_section, section_count };

  /// Requests go to the store, except those that need the window.
  RunListPanel(RunListModel* model, const StoreThread& store);
  ~RunListPanel() override;

  void set_trash(const RunListPointer& runs);
  void set_published(const PublishedPointer& runs);
  /// Selects the run with that UUID or the table with that id, in any section.
  void choose(const QString& key);
  void show_section(Section section);
  [[nodiscard]] Section section() const;
  /// The UUID or the id of the current item in the current section; empty: none.
  [[nodiscard]] QString chosen() const;
  /// UUIDs of all runs selected there, from top to bottom.
  [[nodiscard]] QStringList chosen_runs() const;

  [[nodiscard]] QListView* list() const { return lists_[runs_section]; }
  [[nodiscard]] QListView* list(Section section) const { return lists_[section]; }
  [[nodiscard]] QLineEdit* search() const;
  [[nodiscard]] QTabBar* sections() const;
  [[nodiscard]] RunNotes* notes() const;
  [[nodiscard]] QToolButton* more_button() const;
  [[nodiscard]] const RunListModel& published() const { return published_; }
  [[nodiscard]] const RunListModel& trash() const { return trash_; }
  /// The menu for the selection; the caller shows it.
  [[nodiscard]] QMenu* make_menu();

 Q_SIGNALS:
  void run_chosen(const QString& uuid);
  /// A paper's table was selected.
  void table_chosen(const QString& id);
  /// The current section has no entries.
  void nothing_chosen();
  void export_requested(const QStringList& uuids);
  void import_requested();
  void resume_requested(const QString& uuid);
  void again_requested(const QString& uuid);
  void new_run_wanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void set_up_list(Section section, QAbstractItemModel* model);
  void fill_tags();
  void fit_tags();
  void build_actions();
  void show_more();
  void fill(QMenu* menu);
  void update_actions();
  void update_hint();
  /// Updates the actions, tags and note of the selected runs.
  void show_selected();
  void report_choice(const QModelIndex& current);
  [[nodiscard]] std::vector<const RunEntry*> selected_runs() const;

  void rename();
  void describe();
  void put_in_trash();
  void put_back();
  void ask_to_remove();
  void ask_to_empty();
  void confirm(const QString& title, const QString& question, const QString& yes,
               std::function<void()> act);
  void copy_published();
  void compare_chosen();
  void add_compare_menu(QMenu* menu, const RunInfo& chosen);
  void import_runs() { Q_EMIT import_requested(); }

  const StoreThread& store_;
  RunListModel* model_;
  RunListModel trash_;
  RunListModel published_;
  RunFilter filters_[section_count];
  std::unique_ptr<Ui::RunListPanel> ui_;
  QStringList listed_tags_;
  QListView* lists_[section_count] = {};
  QAction *rename_ = nullptr, *describe_ = nullptr, *continue_ = nullptr, *again_ = nullptr,
          *to_trash_ = nullptr, *back_ = nullptr, *remove_ = nullptr, *empty_ = nullptr,
          *copy_ = nullptr, *compare_ = nullptr;
};

}  // namespace attnscope::gui
