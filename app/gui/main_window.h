#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The main window's frame: pages, menus, and the connections between the pages and the session.

#include <QMainWindow>
#include <QTimer>
#include <filesystem>
#include <functional>
#include <memory>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/session/store_reader.h"
#include "app/gui/session/worker_questions.h"
#include "app/gui/views/theme.h"

class QMenu;

class QActionGroup;
class QStackedWidget;
class QToolBar;

namespace attnscope::gui {

class AttentionPage;
class CommandBar;
class ComparePage;
class NewRunDialog;
class Page;
class PatternEditor;
class PatternsPage;
class TrainingPage;

struct WindowOptions {
  std::filesystem::path database =
      {};                           // opened on a separate thread; an .attn file opens read-only
  std::filesystem::path file = {};  // opened once the store is open: see views/file_dialogs.h
  bool start_quick_sweep = false;   // start the `quick` sweep once the store is open
  std::shared_ptr<PatternEditor> patterns = {};  // of the previous window, with edits and undo
};

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  enum PageNumber { compare_page, patterns_page, attention_page, training_page };
  void show_page(PageNumber number);
  void set_theme(Theme theme);
  /// Opens the modeless dialog with its last state.
  void open_new_run();
  /// Opens a database (in a new window), exported runs (imported), a sweep, a pattern, a dump or a
  /// training. The page reports a file that does not fit; it changes nothing and is not remembered.
  bool open_file(const QString& file);
  void start_quick_sweep();
  /// What the new-run dialog calls to start a run.
  void start_run(const std::string& sweep_text) { launcher_.start(sweep_text); }

  [[nodiscard]] ComparePage* compare() const { return compare_; }
  /// Created on first use.
  [[nodiscard]] PatternsPage* patterns();
  [[nodiscard]] AttentionPage* attention();
  [[nodiscard]] TrainingPage* training();
  [[nodiscard]] RunListModel& runs() { return runs_; }
  [[nodiscard]] CommandBar* commands() const { return commands_; }

 Q_SIGNALS:
  /// Requests another window in place of this one: for another database, or another text size.
  void window_requested(const attnscope::gui::WindowOptions& options);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  /// Asks about unsaved patterns, stores the run notes being edited, and calls `then`.
  void finish_edits(std::function<void()> then);
  void finish_notes(std::function<void()> then);
  void offer_to_continue(const QString& sentence);
  void continue_pending();
  /// Replaces this window, which is settled, by another one.
  void replace_by(const WindowOptions& next);
  void make_new_run();
  void build_menus();
  void build_page_menu();
  void fill_recent(QMenu* menu);
  void wire_commands();
  void add_page(Page* page);
  void wire_store();
  void wire_files();
  void wire_runs();
  void show_runs(const RunListPointer& runs);
  void restore();
  void save() const;
  void tint_icons();
  void export_runs(const QStringList& uuids);
  void import_runs();
  bool open_sweep(const QString& file);
  void refuse_file(const QString& file, const QString& sentence);
  void step_text_size(int direction);
  void set_text_size(int percent);

  std::filesystem::path database_;
  StoreThread store_;
  RunLauncher launcher_;
  ImplementationList implementations_;
  DeviceList devices_;
  SweepForecast forecast_;  // for the sweep in the new-run dialog
  RunListModel runs_;
  bool remember_database_ = false;  // it has opened, and holds the user's own runs
  bool quick_when_open_ = false;
  std::filesystem::path open_first_;  // to open once the database is open
  QTimer opening_;                    // expires if the database takes long to open

  CommandBar* commands_;
  QStackedWidget* pages_;
  ComparePage* compare_;
  std::shared_ptr<PatternEditor> editor_;  // of the previous window; none: a new one
  PatternsPage* patterns_ = nullptr;
  AttentionPage* attention_ = nullptr;
  TrainingPage* training_ = nullptr;
  bool may_close_ = false;  // the window may close
  std::function<void()> when_finished_;
  NewRunDialog* new_run_ = nullptr;
  QToolBar* rail_ = nullptr;
  QActionGroup* page_actions_ = nullptr;
  QActionGroup* theme_actions_ = nullptr;
};

}  // namespace attnscope::gui
