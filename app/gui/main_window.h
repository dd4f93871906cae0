#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window's frame: pages, menus, and the wires between the pages and the session.

#include <QMainWindow>
#include <QTimer>
#include <functional>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/session/store_reader.h"
#include "app/gui/session/worker_questions.h"
#include "app/gui/views/theme.h"
#include "app/gui/window.h"

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
class PatternsPage;
class TrainingPage;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  enum PageNumber { compare_page, patterns_page, attention_page, training_page };
  void show_page(PageNumber number);
  void set_theme(Theme theme);
  /// The dialog beside the window, as it was left.
  void open_new_run();
  /// A database (in a window of its own), exported runs (imported), a sweep, a pattern, a dump, a
  /// training.
  /// What does not fit is said on the page, changes nothing and is not remembered.
  bool open_file(const QString& file);
  void start_quick_sweep();
  /// What the new-run dialog does when it is done.
  void start_run(const std::string& sweep_text) { launcher_.start(sweep_text); }

  [[nodiscard]] ComparePage* compare() const { return compare_; }
  /// Made when it is first asked for.
  [[nodiscard]] PatternsPage* patterns();
  [[nodiscard]] AttentionPage* attention();
  [[nodiscard]] TrainingPage* training();
  [[nodiscard]] RunListModel& runs() { return runs_; }
  [[nodiscard]] CommandBar* commands() const { return commands_; }

 Q_SIGNALS:
  /// Another window instead of this one: on another database, or with another size of text.
  void window_asked(const attnscope::gui::WindowOptions& options);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  /// Asks about patterns that are not saved, stores what is being typed of a run, then does this.
  void settle(std::function<void()> then);
  void settle_notes(std::function<void()> then);
  void offer_to_go_on(const QString& sentence);
  void go_on();
  /// Another window in place of this one, which is settled.
  void give_way_to(const WindowOptions& next);
  void make_new_run();
  void build_rail();
  void build_menus();
  void build_file_menu();
  void build_view_menu();
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
  void ask_for_open();
  bool open_sweep(const QString& file);
  void refuse_file(const QString& file, const QString& sentence);
  void step_text_size(int direction);
  void set_text_size(int percent);

  std::filesystem::path database_;
  StoreThread store_;
  RunLauncher launcher_;
  ImplementationList implementations_;
  DeviceList devices_;
  SweepForecast forecast_;  // of what the new-run dialog holds
  RunListModel runs_;
  bool remember_database_ = false;  // it has opened, and holds a person's own runs
  bool quick_when_open_ = false;
  std::filesystem::path open_first_;  // once the database is open
  QTimer opening_;                    // runs out when the database takes long to open

  CommandBar* commands_;
  QStackedWidget* pages_;
  ComparePage* compare_;
  std::shared_ptr<PatternEditor> editor_;  // of the window before; none: a new one
  PatternsPage* patterns_ = nullptr;
  AttentionPage* attention_ = nullptr;
  TrainingPage* training_ = nullptr;
  bool is_settled_ = false;  // the window may close
  std::function<void()> when_settled_;
  NewRunDialog* new_run_ = nullptr;
  QToolBar* rail_ = nullptr;
  QActionGroup* page_actions_ = nullptr;
  QActionGroup* theme_actions_ = nullptr;
};

}  // namespace attnscope::gui
