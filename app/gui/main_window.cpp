// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"

#include <QActionGroup>
#include <QApplication>
#include <QCloseEvent>
#include <QLineEdit>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "attnscope/build_info.h"
#include "engine/sweep/sweep.h"

namespace attnscope::gui {
namespace {

constexpr int slow_opening_ms = 1000;

}  // namespace

MainWindow::MainWindow(const WindowOptions& options, QWidget* parent)
    : QMainWindow(parent),
      store_(options.database),
      launcher_(options.database),
      quick_when_open_(options.start_quick_sweep),
      pages_(new QStackedWidget),
      compare_(new ComparePage(&runs_)) {
  setWindowTitle(QStringLiteral("AttnScope"));
  setCentralWidget(pages_);
  pages_->addWidget(compare_);
  build_rail();
  build_menus();
  wire_store();
  wire_launcher();
  wire_compare();
  restore();
  tint_icons();
  store_.start();
  opening_.start(slow_opening_ms);
}

MainWindow::~MainWindow() = default;

void MainWindow::build_rail() {
  rail_ = new QToolBar(tr("Pages"));
  rail_->setObjectName(QStringLiteral("rail"));
  rail_->setMovable(false);
  rail_->setFloatable(false);
  rail_->setContextMenuPolicy(Qt::PreventContextMenu);
  rail_->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
  rail_->setIconSize(QSize(26, 26));
  addToolBar(Qt::LeftToolBarArea, rail_);
  page_actions_ = new QActionGroup(this);
  const std::pair<QString, QString> entries[] = {{tr("Compare"), tr("Ctrl+1")},
                                                 {tr("Patterns"), tr("Ctrl+2")}};
  for (const auto& [name, shortcut] : entries) {
    QAction* action = rail_->addAction(name);
    action->setCheckable(true);
    action->setShortcut(QKeySequence(shortcut));
    action->setToolTip(QStringLiteral("%1 (%2)").arg(name, shortcut));
    page_actions_->addAction(action);
    const auto page = static_cast<Page>(page_actions_->actions().size() - 1);
    connect(action, &QAction::triggered, this, [this, page] { show_page(page); });
  }
}

void MainWindow::build_menus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&New run…"), QKeySequence(tr("Ctrl+N")), this, &MainWindow::open_new_run);
  file->addAction(tr("Run the &quick sweep"), QKeySequence(tr("Ctrl+R")), this,
                  &MainWindow::start_quick_sweep);
  file->addSeparator();
  file->addAction(tr("&Import runs…"), QKeySequence(tr("Ctrl+I")), this, &MainWindow::import_runs);
  file->addAction(tr("&Export run…"), QKeySequence(tr("Ctrl+E")), this, [this] {
    if (const QString uuid = compare_->run_list()->chosen(); !uuid.isEmpty()) export_run(uuid);
  });
  file->addSeparator();
  file->addAction(tr("&Open pattern…"), QKeySequence(tr("Ctrl+O")), this,
                  &MainWindow::open_pattern);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence(tr("Ctrl+Q")), this, &QWidget::close);

  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addActions(page_actions_->actions());
  view->addSeparator();
  view->addAction(tr("&Search runs"), QKeySequence(tr("Ctrl+F")), this, [this] {
    show_page(compare_page);
    compare_->run_list()->search()->setFocus(Qt::ShortcutFocusReason);
  });
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
  menuBar()->addMenu(tr("&Help"))->addAction(tr("&About AttnScope"), this, &MainWindow::show_about);
}

void MainWindow::wire_store() {
  opening_.setSingleShot(true);
  connect(&opening_, &QTimer::timeout, this, [this] {
    compare_->messages()->show_info(
        tr("Opening the database %1.").arg(words(store_.database().string())));
  });
  connect(&store_, &StoreThread::opened, &opening_, &QTimer::stop);
  for (const auto answered : {&StoreThread::refused, &StoreThread::waiting})
    connect(&store_, answered, &opening_, &QTimer::stop);
  connect(&store_, &StoreThread::waiting, compare_, &ComparePage::show_waiting);
  connect(&store_, &StoreThread::waited, compare_, &ComparePage::show_waited);
  connect(&store_, &StoreThread::opened, this, [this] {
    compare_->show_store_opened();
    if (std::exchange(quick_when_open_, false)) start_quick_sweep();
  });
  connect(&store_, &StoreThread::refused, compare_, &ComparePage::show_refused);
  connect(&store_, &StoreThread::runs_changed, this, [this](const RunListPointer& runs) {
    runs_.set_runs(runs);
    launcher_.see_runs(runs);
    compare_->runs_changed();
  });
  connect(&store_, &StoreThread::run_read, compare_->run_view(), &RunView::show_run);
  connect(&store_, &StoreThread::succeeded, compare_->messages(), &MessageBar::show_info);
  connect(&store_, &StoreThread::damaged, this,
          [this](const QString& sentence) { compare_->messages()->show_error(sentence); });
  connect(&store_, &StoreThread::failed, this,
          [this](const QString& sentence) { compare_->messages()->show_error(sentence); });
}

void MainWindow::wire_launcher() {
  connect(&launcher_, &RunLauncher::starting, compare_, &ComparePage::show_starting);
  connect(&launcher_, &RunLauncher::started, compare_, &ComparePage::choose_run);
  connect(&launcher_, &RunLauncher::failed, this, [this](const QString& sentence) {
    show_page(compare_page);
    compare_->messages()->show_error(sentence);
    compare_->progress()->allow_cancel();
    compare_->runs_changed();
  });
}

void MainWindow::wire_compare() {
  connect(compare_->run_view(), &RunView::run_wanted, &store_, &StoreThread::show_run);
  connect(compare_, &ComparePage::new_run_asked, this, &MainWindow::open_new_run);
  connect(compare_, &ComparePage::quick_sweep_asked, this, &MainWindow::start_quick_sweep);
  connect(compare_, &ComparePage::open_again_asked, &store_, &StoreThread::open_again);
  connect(compare_->progress(), &ProgressStrip::cancel_asked, this, [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.cancel(entry->info);
  });
  RunListPanel* list = compare_->run_list();
  connect(list, &RunListPanel::remove_asked, this, &MainWindow::confirm_removal);
  connect(list, &RunListPanel::export_asked, this, &MainWindow::export_run);
  connect(list, &RunListPanel::import_asked, this, &MainWindow::import_runs);
  connect(list, &RunListPanel::resume_asked, this, [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.resume(entry->info);
  });
  connect(list, &RunListPanel::again_asked, this, [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.again(entry->info);
  });
}

void MainWindow::restore() {
  const QSettings settings;
  if (!restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray()))
    resize(1280, 800);
  compare_->run_view()->set_preferred_baseline(
      settings.value(QStringLiteral("compare/baseline")).toString());
  const QString theme = settings.value(QStringLiteral("window/theme")).toString();
  for (QAction* action : theme_actions_->actions())
    action->setChecked(action->data().toString() == name_of(theme_named(theme)));
  show_page(static_cast<Page>(settings.value(QStringLiteral("window/page")).toInt() == patterns_page
                                  ? patterns_page
                                  : compare_page));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  QSettings settings;
  settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
  settings.setValue(QStringLiteral("window/page"),
                    pages_->currentWidget() == compare_ ? compare_page : patterns_page);
  settings.setValue(QStringLiteral("compare/baseline"), compare_->run_view()->preferred_baseline());
  QMainWindow::closeEvent(event);
}

PatternsPage* MainWindow::patterns() {
  if (!patterns_) {
    patterns_ = new PatternsPage;
    pages_->addWidget(patterns_);
  }
  return patterns_;
}

void MainWindow::show_page(Page page) {
  page_actions_->actions().at(page)->setChecked(true);
  pages_->setCurrentWidget(page == compare_page ? static_cast<QWidget*>(compare_) : patterns());
}

void MainWindow::set_theme(Theme theme) {
  QSettings().setValue(QStringLiteral("window/theme"), name_of(theme));
  for (QAction* action : theme_actions_->actions())
    action->setChecked(action->data().toString() == name_of(theme));
  apply_theme(theme);
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && page_actions_) tint_icons();
}

void MainWindow::tint_icons() {
  const char* icons[] = {"compare", "patterns"};
  for (int page = 0; page < page_actions_->actions().size(); ++page)
    page_actions_->actions().at(page)->setIcon(line_icon(QLatin1String(icons[page]), palette()));
}

void MainWindow::open_new_run() {
  show_page(compare_page);
  if (!compare_->new_run_button()->isEnabled()) return;  // the page says why
  if (!new_run_) {
    new_run_ = new NewRunDialog(this);
    connect(new_run_, &NewRunDialog::start_asked, this, &MainWindow::start_run);
    connect(&implementations_, &ImplementationList::changed, new_run_, [this] {
      QList<ContenderMatrixModel::Named> names;
      for (const ListedImplementation& listed : implementations_.implementations())
        names.append({listed.id, listed.summary});
      new_run_->set_implementations(names, implementations_.problem());
    });
  }
  implementations_.ask();
  new_run_->open();
}

void MainWindow::start_run(const std::string& sweep_text) {
  launcher_.start(sweep_text);
}

void MainWindow::start_quick_sweep() {
  show_page(compare_page);
  if (!compare_->quick_button()->isEnabled()) return;
  for (const NamedSweep& sweep : built_in_sweeps()) {
    if (sweep.name == "quick") return launcher_.start(sweep.text);
  }
}

void MainWindow::confirm_removal(const QString& uuid) {
  const RunEntry* entry = runs_.entry(uuid);
  if (!entry) return;
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Remove run"),
      tr("Remove run %1, %2, with its %3 heats? This cannot be undone; export it first to keep it.")
          .arg(entry->info.number)
          .arg(words(entry->info.start.sweep_name))
          .arg(entry->info.heats_done),
      QMessageBox::Cancel, this);
  QPushButton* remove = box->addButton(tr("Remove"), QMessageBox::DestructiveRole);
  box->setAttribute(Qt::WA_DeleteOnClose);
  connect(remove, &QPushButton::clicked, this, [this, uuid] { store_.remove_run(uuid); });
  box->open();
}

void MainWindow::export_run(const QString& uuid) {
  const RunEntry* entry = runs_.entry(uuid);
  if (!entry) return;
  const QString name =
      QStringLiteral("%1-%2").arg(words(entry->info.start.sweep_name)).arg(entry->info.number);
  ask_for_new_file(this, tr("Export run"), name, QStringLiteral("attn"),
                   [this, uuid](const QString& file) { store_.export_runs({uuid}, file); });
}

void MainWindow::import_runs() {
  show_page(compare_page);
  ask_for_file(this, tr("Import runs"), tr("Runs (*.attn)"),
               [this](const QString& file) { store_.import_file(file); });
}

void MainWindow::open_pattern() {
  show_page(patterns_page);
  patterns()->ask_for_file();
}

void MainWindow::show_about() {
  auto* box = new QMessageBox(
      QMessageBox::NoIcon, tr("About AttnScope"),
      tr("AttnScope %1 (%2)\n\nWhat an attention pattern and its implementation cost at your "
         "lengths, measured on your machine.\n\nDatabase: %3")
          .arg(QLatin1String(ATTNSCOPE_VERSION), QLatin1String(ATTNSCOPE_GIT_COMMIT).left(12),
               words(store_.database().string())),
      QMessageBox::Close, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

}  // namespace attnscope::gui
