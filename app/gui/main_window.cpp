// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"

#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/results_folder.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/command_bar.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/new_run_drawer.h"
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
      open_first_(options.file),
      commands_(new CommandBar(this)),
      pages_(new QStackedWidget),
      compare_(new ComparePage(&runs_)) {
  setWindowTitle(options.database == default_database()
                     ? QStringLiteral("AttnScope")
                     : tr("%1 - AttnScope").arg(words(options.database.filename().string())));
  setCentralWidget(pages_);
  add_page(compare_);
  build_rail();
  addToolBar(Qt::TopToolBarArea, commands_);
  build_menus();
  wire_store();
  wire_files();
  wire_launcher();
  wire_compare();
  wire_commands();
  restore();
  setAcceptDrops(true);
  tint_icons();
  store_.start();
  store_.read_published(results_folder(QCoreApplication::applicationDirPath().toStdString()));
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
                                                 {tr("Patterns"), tr("Ctrl+2")},
                                                 {tr("Attention"), tr("Ctrl+3")}};
  for (const auto& [name, shortcut] : entries) {
    QAction* action = rail_->addAction(name);
    action->setCheckable(true);
    action->setShortcut(QKeySequence(shortcut));
    action->setToolTip(QStringLiteral("%1 (%2)").arg(name, shortcut));
    page_actions_->addAction(action);
    const auto number = static_cast<PageNumber>(page_actions_->actions().size() - 1);
    connect(action, &QAction::triggered, this, [this, number] { show_page(number); });
  }
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
    remember_database_ = store_.database().extension() != ".attn";
    compare_->show_store_opened();
    commands_->set_refused({});
    if (!open_first_.empty()) open_file(words(std::exchange(open_first_, {}).string()));
    if (std::exchange(quick_when_open_, false)) start_quick_sweep();
  });
  connect(&store_, &StoreThread::warned, compare_->messages(), &MessageBar::show_info);
  connect(&store_, &StoreThread::refused, compare_, &ComparePage::show_refused);
  connect(&store_, &StoreThread::refused, commands_, &CommandBar::set_refused);
  connect(&store_, &StoreThread::runs_changed, this, [this](const RunListPointer& runs) {
    runs_.set_runs(runs);
    launcher_.see_runs(runs);
    compare_->run_list()->set_trash(runs);
    compare_->runs_changed();
    commands_->set_live(runs_.live() != nullptr);
    if (patterns_) patterns_->set_measuring(runs_.live() != nullptr);
    forecast_.set_measuring(runs_.live() != nullptr);
    if (!runs_.live()) devices_.ask();  // it starts a worker, which would disturb a measurement
  });
  connect(&store_, &StoreThread::run_read, compare_, &ComparePage::show_run);
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
    compare_->progress()->allow_again();
    compare_->runs_changed();
  });
}

void MainWindow::wire_compare() {
  connect(compare_->run_view(), &RunView::run_wanted, &store_, &StoreThread::show_run);
  connect(compare_, &ComparePage::quick_sweep_asked, this, &MainWindow::start_quick_sweep);
  connect(compare_, &ComparePage::open_again_asked, &store_, &StoreThread::open_again);
  connect(compare_, &ComparePage::comparison_wanted, &store_, &StoreThread::compare_runs);
  connect(&store_, &StoreThread::compared, compare_, &ComparePage::show_comparison);
  connect(compare_->progress(), &ProgressStrip::cancel_asked, this, [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.cancel(entry->info);
  });
  connect(compare_->progress(), &ProgressStrip::pause_asked, this, [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.pause(entry->info);
  });
  connect(compare_->progress(), &ProgressStrip::continue_asked, this, [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.go_on(entry->info);
  });
  connect(&store_, &StoreThread::heats_read, compare_->progress(), &ProgressStrip::show_heats);
  wire_run_list();
}

void MainWindow::wire_run_list() {
  RunListPanel* list = compare_->run_list();
  connect(list, &RunListPanel::rename_wanted, this,
          [this](const QString& uuid, const QString& name) {
            store_.describe_run(uuid, {.name = name.toStdString()});
          });
  connect(list, &RunListPanel::words_wanted, this,
          [this](const QString& uuid, const QString& name, const QStringList& tags,
                 const QString& note) {
            store_.describe_run(uuid, {.name = name.toStdString(),
                                       .tag = tags.join(QLatin1Char(' ')).toStdString(),
                                       .note = note.toStdString()});
          });
  connect(list, &RunListPanel::tags_wanted, &store_, &StoreThread::change_tags);
  connect(list, &RunListPanel::trash_wanted, &store_, &StoreThread::put_in_trash);
  connect(list, &RunListPanel::restore_wanted, &store_, &StoreThread::take_from_trash);
  connect(list, &RunListPanel::remove_wanted, &store_, &StoreThread::remove_runs);
  connect(list, &RunListPanel::empty_trash_wanted, &store_, &StoreThread::empty_trash);
  connect(list, &RunListPanel::import_file_wanted, &store_, &StoreThread::import_file);
  connect(list, &RunListPanel::export_asked, this, &MainWindow::export_runs);
  connect(list, &RunListPanel::import_asked, this, &MainWindow::import_runs);
  const auto resume = [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.resume(entry->info);
  };
  connect(list, &RunListPanel::resume_asked, this, resume);
  connect(compare_->run_view(), &RunView::resume_asked, this, resume);
  const auto again = [this](const QString& uuid) {
    if (const RunEntry* entry = runs_.entry(uuid)) launcher_.again(entry->info);
  };
  connect(list, &RunListPanel::again_asked, this, again);
  connect(compare_->run_view(), &RunView::again_asked, this, again);
  connect(&store_, &StoreThread::trashed, compare_, &ComparePage::show_trashed);
  connect(&store_, &StoreThread::damage_found, &runs_, &RunListModel::mark_damaged);
  connect(&store_, &StoreThread::published_read, compare_, &ComparePage::show_published);
}

void MainWindow::add_page(Page* page) {
  pages_->addWidget(page);
  connect(page, &Page::run_asked, this, [this](const QString& sweep_text) {
    open_new_run();
    if (!sweep_text.isEmpty() && new_run_) new_run_->begin_with(sweep_text);
  });
}

void MainWindow::wire_commands() {
  connect(commands_, &CommandBar::cancel_asked, this, [this] {
    if (const RunEntry* live = runs_.live()) launcher_.cancel(live->info);
  });
  connect(commands_, &CommandBar::device_chosen, this,
          [](const QString& kind) { QSettings().setValue(QStringLiteral("window/device"), kind); });
  connect(&devices_, &DeviceList::answered, this, [this] {
    if (!devices_.problem().isEmpty())
      return commands_->device_picker()->setToolTip(devices_.problem());
    commands_->set_devices(devices_.devices());
    commands_->choose_device(QSettings().value(QStringLiteral("window/device")).toString());
  });
}

PatternsPage* MainWindow::patterns() {
  if (!patterns_) {
    patterns_ = new PatternsPage;
    patterns_->restore(QSettings().value(QStringLiteral("patterns/chosen")).toMap());
    add_page(patterns_);
    patterns_->set_measuring(runs_.live() != nullptr);
    connect(patterns_, &PatternsPage::ceilings_wanted, &store_, &StoreThread::read_ceilings);
    connect(&store_, &StoreThread::ceilings_read, patterns_,
            [page = patterns_](const MachineCeilings& machine) { page->set_machine(machine); });
  }
  return patterns_;
}

AttentionPage* MainWindow::attention() {
  if (!attention_) {
    attention_ = new AttentionPage;
    attention_->restore(QSettings().value(QStringLiteral("attention/chosen")).toMap());
    add_page(attention_);
  }
  return attention_;
}

void MainWindow::show_page(PageNumber number) {
  page_actions_->actions().at(number)->setChecked(true);
  Page* page = compare_;
  if (number == patterns_page) page = patterns();
  if (number == attention_page) page = attention();
  const bool turned = pages_->currentWidget() != page;
  pages_->setCurrentWidget(page);
  commands_->set_page(page);
  // A page's keys work where the focus is.
  const QWidget* focused = focusWidget();
  if (turned && !(focused && page->isAncestorOf(focused)))
    (page->focusWidget() ? page->focusWidget() : page)->setFocus(Qt::OtherFocusReason);
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && page_actions_) tint_icons();
}

void MainWindow::tint_icons() {
  const char* icons[] = {"compare", "patterns", "attention"};
  for (int page = 0; page < page_actions_->actions().size(); ++page)
    page_actions_->actions().at(page)->setIcon(line_icon(QLatin1String(icons[page]), palette()));
}

void MainWindow::start_quick_sweep() {
  show_page(compare_page);
  if (!compare_->quick_button()->isEnabled()) return;
  for (const NamedSweep& sweep : built_in_sweeps()) {
    if (sweep.name != "quick") continue;
    auto on_device = nlohmann::ordered_json::parse(sweep.text);
    on_device["device"] = commands_->device().toStdString();
    // Unchanged, the preset keeps its own text, byte for byte.
    const bool as_it_is = commands_->device() == QLatin1String("cpu");
    return launcher_.start(as_it_is ? sweep.text : on_device.dump(2));
  }
}

void MainWindow::export_runs(const QStringList& uuids) {
  if (uuids.isEmpty()) return;
  const RunEntry* entry = runs_.entry(uuids.front());
  const QString name =
      uuids.size() == 1 && entry
          ? QStringLiteral("%1-%2").arg(words(title_of(entry->info))).arg(entry->info.number)
          : QStringLiteral("runs");
  ask_for_new_file(this, tr("Export runs"), name, {QStringLiteral("attn")},
                   [this, uuids](const QString& file) { store_.export_runs(uuids, file); });
}

}  // namespace attnscope::gui
