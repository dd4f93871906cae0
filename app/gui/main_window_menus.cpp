// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window's menus and what it keeps from one start to the next.
#include <QActionGroup>
#include <QCloseEvent>
#include <QLineEdit>
#include <QMenuBar>
#include <QSettings>
#include <QStackedWidget>

#include "app/gui/main_window.h"
#include "app/gui/session/recent_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/about_dialog.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/command_bar.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/heats_view.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "app/gui/views/shortcuts_dialog.h"

namespace attnscope::gui {

void MainWindow::build_menus() {
  build_file_menu();
  QMenu* edit = menuBar()->addMenu(tr("&Edit"));
  edit->addAction(commands_->copy_action());
  edit->addAction(commands_->export_action());

  QMenu* run = menuBar()->addMenu(tr("&Run"));
  run->addAction(commands_->run_action());
  run->addAction(compare_->progress()->pause_action());
  run->addAction(commands_->cancel_action());
  run->addSeparator();
  QAction* fresh =
      run->addAction(tr("&New run…"), QKeySequence(tr("Ctrl+N")), this, &MainWindow::open_new_run);
  // Where the page's own command is a new run, it has both keys and the menu one line.
  const auto list_once = [page_run = commands_->run_action(), fresh] {
    const bool same = page_run->text() == tr("New run…");
    fresh->setVisible(!same);
    const QKeySequence own(tr("Ctrl+Return"));
    page_run->setShortcuts(same ? QList{own, QKeySequence(tr("Ctrl+N"))} : QList{own});
  };
  connect(commands_->run_action(), &QAction::changed, fresh, list_once);
  list_once();
  run->addAction(tr("Run the &quick sweep"), QKeySequence(tr("Ctrl+R")), this,
                 &MainWindow::start_quick_sweep);

  build_view_menu();
  build_page_menu();
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keyboard shortcuts"), QKeySequence(tr("F1")), this,
                  &MainWindow::show_shortcuts);
  help->addAction(tr("&About AttnScope"), this, &MainWindow::show_about);
}

void MainWindow::build_file_menu() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence(tr("Ctrl+O")), this, &MainWindow::ask_for_open);
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fill_recent(recent); });
  fill_recent(recent);
  file->addSeparator();
  file->addAction(tr("&Import runs…"), this, &MainWindow::import_runs);
  file->addAction(tr("&Export runs…"), QKeySequence(tr("Ctrl+E")), this,
                  [this] { export_runs(compare_->run_list()->chosen_runs()); });
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence(tr("Ctrl+Q")), this, &QWidget::close);
}

void MainWindow::fill_recent(QMenu* menu) {
  menu->clear();
  for (const QString& file : recent_files())
    menu->addAction(file, this, [this, file] { open_file(file); });
  if (menu->isEmpty()) {
    menu->addAction(tr("Nothing opened yet"))->setEnabled(false);
    return;
  }
  menu->addSeparator();
  menu->addAction(tr("&Forget these"), this, [] { forget_files(); });
}

void MainWindow::build_view_menu() {
  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addActions(page_actions_->actions());
  view->addSeparator();
  view->addAction(tr("&Search runs"), QKeySequence(tr("Ctrl+F")), this, [this] {
    show_page(compare_page);
    compare_->run_list()->search()->setFocus(Qt::ShortcutFocusReason);
  });
  connect(compare_->progress()->heats_action(), &QAction::triggered, this, [this] {
    show_page(compare_page);
    compare_->progress()->heats_view()->setFocus(Qt::ShortcutFocusReason);
  });
  view->addAction(compare_->progress()->heats_action());
  view->addSeparator();
  QMenu* themes = view->addMenu(tr("&Theme"));
  theme_actions_ = new QActionGroup(this);
  const std::pair<Theme, QString> entries[] = {{Theme::system, tr("As the &desktop")},
                                               {Theme::light, tr("&Light")},
                                               {Theme::dark, tr("D&ark")}};
  for (const auto& [theme, name] : entries) {
    QAction* action = themes->addAction(name, this, [this, theme = theme] { set_theme(theme); });
    action->setCheckable(true);
    action->setData(name_of(theme));
    theme_actions_->addAction(action);
  }
  QMenu* sizes = view->addMenu(tr("Te&xt size"));
  sizes->addAction(tr("&Larger"), QKeySequence(tr("Ctrl++")), this, [this] { step_text_size(1); });
  sizes->addAction(tr("&Smaller"), QKeySequence(tr("Ctrl+-")), this,
                   [this] { step_text_size(-1); });
  sizes->addAction(tr("&As the desktop"), this, [this] { set_text_size(100); });
}

// What can be done on the page at the front; the keys work where its groups say.
void MainWindow::build_page_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Page"));
  menu->menuAction()->setObjectName(ShortcutsDialog::page_menu);
  const auto fill = [this, menu] {
    menu->clear();
    const auto* page = qobject_cast<Page*>(pages_->currentWidget());
    for (const Page::PageActions& group :
         page ? page->page_actions() : QList<Page::PageActions>()) {
      menu->addSection(group.where);
      menu->addActions(group.actions);
    }
    menu->menuAction()->setVisible(!menu->isEmpty());
  };
  connect(pages_, &QStackedWidget::currentChanged, menu, fill);
  fill();
}

void MainWindow::set_theme(Theme theme) {
  QSettings().setValue(QStringLiteral("window/theme"), name_of(theme));
  for (QAction* action : theme_actions_->actions())
    action->setChecked(action->data().toString() == name_of(theme));
  apply_theme(theme);
}

void MainWindow::step_text_size(int direction) {
  const QList<int>& sizes = text_sizes();
  const qsizetype now = sizes.indexOf(kept_text_size());
  set_text_size(sizes[std::clamp<qsizetype>(now + direction, 0, sizes.size() - 1)]);
}

void MainWindow::set_text_size(int percent) {
  if (percent == kept_text_size()) return;
  keep_text_size(percent);
  // Anew: headings were made for the old size. Nothing that is not saved is lost by it.
  unsaved_is_settled_ = true;
  save();
  WindowOptions next{.database = database_};
  if (patterns_) next.patterns = patterns_->shared_editor();
  Q_EMIT window_asked(next);
}

void MainWindow::restore() {
  const QSettings settings;
  if (!restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray()))
    resize(1280, 800);
  compare_->run_view()->set_preferred_baseline(
      settings.value(QStringLiteral("compare/baseline")).toString());
  compare_->run_view()->restore(settings.value(QStringLiteral("compare/chosen")).toMap());
  const QString theme = settings.value(QStringLiteral("window/theme")).toString();
  for (QAction* action : theme_actions_->actions())
    action->setChecked(action->data().toString() == name_of(theme_named(theme)));
  const int page = settings.value(QStringLiteral("window/page")).toInt();
  const bool known = page > 0 && page < page_actions_->actions().size();
  show_page(known ? static_cast<PageNumber>(page) : compare_page);
}

void MainWindow::ask_for_window(const WindowOptions& options) {
  const auto ask = [this, options] {
    unsaved_is_settled_ = true;
    save();  // the next window restores it while this one is still open
    Q_EMIT window_asked(options);
  };
  if (!patterns_ || !patterns_->has_unsaved()) return ask();
  show_page(patterns_page);
  patterns_->settle_unsaved(ask);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (patterns_ && patterns_->has_unsaved() && !unsaved_is_settled_) {
    event->ignore();
    show_page(patterns_page);
    patterns_->settle_unsaved([this] {
      unsaved_is_settled_ = true;
      close();
    });
    return;
  }
  save();
  QMainWindow::closeEvent(event);
}

void MainWindow::save() const {
  QSettings settings;
  settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
  settings.setValue(QStringLiteral("window/page"),
                    page_actions_->actions().indexOf(page_actions_->checkedAction()));
  if (remember_database_)
    settings.setValue(QStringLiteral("window/database"), words(database_.string()));
  settings.setValue(QStringLiteral("compare/baseline"), compare_->run_view()->preferred_baseline());
  settings.setValue(QStringLiteral("compare/chosen"), compare_->run_view()->chosen());
  if (patterns_) settings.setValue(QStringLiteral("patterns/chosen"), patterns_->chosen());
  if (attention_) settings.setValue(QStringLiteral("attention/chosen"), attention_->chosen());
}

void MainWindow::show_shortcuts() {
  auto* dialog = new ShortcutsDialog(*menuBar(), {compare_, patterns(), attention()}, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->open();
}

void MainWindow::show_about() {
  auto* dialog = new AboutDialog(database_, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->open();
}

}  // namespace attnscope::gui
