#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window's frame: pages, menus, and the wires between the pages and the session.

#include <QMainWindow>
#include <QTimer>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/implementation_list.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/session/store_thread.h"
#include "app/gui/views/theme.h"
#include "app/gui/window.h"

class QActionGroup;
class QStackedWidget;
class QToolBar;

namespace attnscope::gui {

class ComparePage;
class NewRunDialog;
class PatternsPage;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  enum Page { compare_page, patterns_page };
  void show_page(Page page);
  void set_theme(Theme theme);
  void open_new_run();
  void start_quick_sweep();
  /// What the new-run form does when it is done.
  void start_run(const std::string& sweep_text);

  [[nodiscard]] ComparePage* compare() const { return compare_; }
  /// Made when it is first asked for.
  [[nodiscard]] PatternsPage* patterns();
  [[nodiscard]] RunListModel& runs() { return runs_; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void build_rail();
  void build_menus();
  void wire_store();
  void wire_launcher();
  void wire_compare();
  void restore();
  void tint_icons();
  void confirm_removal(const QString& uuid);
  void export_run(const QString& uuid);
  void import_runs();
  void open_pattern();
  void show_about();

  StoreThread store_;
  RunLauncher launcher_;
  ImplementationList implementations_;
  RunListModel runs_;
  bool quick_when_open_ = false;
  QTimer opening_;  // runs out when the database takes long to open

  QStackedWidget* pages_;
  ComparePage* compare_;
  PatternsPage* patterns_ = nullptr;
  NewRunDialog* new_run_ = nullptr;
  QToolBar* rail_ = nullptr;
  QActionGroup* page_actions_ = nullptr;
  QActionGroup* theme_actions_ = nullptr;
};

}  // namespace attnscope::gui
