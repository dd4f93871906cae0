// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"

#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/file_kind.h"
#include "app/gui/session/program.h"
#include "app/gui/session/recent_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/command_bar.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "engine/sweep/sweep.h"
#include "kernels/base/text_file.h"

namespace attnscope::gui {
namespace {

constexpr int slow_opening_ms = 1000;
constexpr std::size_t largest_sweep = 1 << 20;  // bytes

QStringList local_files(const QMimeData& data) {
  QStringList files;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) files.append(url.toLocalFile());
  }
  return files;
}

}  // namespace

MainWindow::MainWindow(const WindowOptions& options, QWidget* parent)
    : QMainWindow(parent),
      database_(options.database),
      store_(database_),
      launcher_(database_),
      quick_when_open_(options.start_quick_sweep),
      open_first_(options.file),
      commands_(new CommandBar(this)),
      pages_(new QStackedWidget),
      compare_(new ComparePage(&runs_)),
      editor_(options.patterns) {
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
  if (editor_) (void)patterns();  // whose edits are asked about before the window closes
  setAcceptDrops(true);
  tint_icons();
  store_.start();
  store_.post(&StoreReader::read_published,
              results_folder(QCoreApplication::applicationDirPath().toStdString()));
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
    compare_->messages()->show_info(tr("Opening the database %1.").arg(words(database_.string())));
  });
  connect(store_.reader(), &StoreReader::opened, &opening_, &QTimer::stop);
  for (const auto answered : {&StoreReader::refused, &StoreReader::waiting})
    connect(store_.reader(), answered, &opening_, &QTimer::stop);
  connect(store_.reader(), &StoreReader::waiting, compare_, &ComparePage::show_waiting);
  connect(store_.reader(), &StoreReader::waited, compare_, &ComparePage::show_waited);
  connect(store_.reader(), &StoreReader::opened, this, [this] {
    remember_database_ = database_.extension() != ".attn";
    compare_->show_store_opened();
    commands_->set_refused({});
    if (!open_first_.empty()) open_file(words(std::exchange(open_first_, {}).string()));
    if (std::exchange(quick_when_open_, false)) start_quick_sweep();
  });
  connect(store_.reader(), &StoreReader::warned, compare_->messages(), &MessageBar::show_info);
  connect(store_.reader(), &StoreReader::refused, compare_, &ComparePage::show_refused);
  connect(store_.reader(), &StoreReader::refused, commands_, &CommandBar::set_refused);
  connect(store_.reader(), &StoreReader::runs_changed, this, [this](const RunListPointer& runs) {
    runs_.set_runs(runs);
    launcher_.see_runs(runs);
    compare_->run_list()->set_trash(runs);
    compare_->runs_changed();
    commands_->set_live(runs_.live() != nullptr);
    if (patterns_) patterns_->set_measuring(runs_.live() != nullptr);
    forecast_.set_measuring(runs_.live() != nullptr);
    if (!runs_.live()) devices_.ask();  // it starts a worker, which would disturb a measurement
  });
  connect(store_.reader(), &StoreReader::run_read, compare_, &ComparePage::show_run);
  connect(store_.reader(), &StoreReader::succeeded, compare_->messages(), &MessageBar::show_info);
  connect(store_.reader(), &StoreReader::damaged, this,
          [this](const QStringList& uuids, const QString& sentence) {
            runs_.mark_damaged(uuids);
            compare_->messages()->show_error(sentence);
          });
  connect(store_.reader(), &StoreReader::failed, this,
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
  connect(compare_->run_view(), &RunView::run_wanted, store_.reader(), &StoreReader::show_run);
  connect(compare_, &ComparePage::quick_sweep_asked, this, &MainWindow::start_quick_sweep);
  connect(compare_, &ComparePage::open_again_asked, store_.reader(), &StoreReader::open);
  connect(compare_, &ComparePage::comparison_wanted, store_.reader(), &StoreReader::compare_runs);
  connect(store_.reader(), &StoreReader::compared, compare_, &ComparePage::show_comparison);
  const auto act_on = [this](void (RunLauncher::*act)(const RunInfo&)) {
    return [this, act](const QString& uuid) {
      if (const RunEntry* entry = runs_.entry(uuid)) (launcher_.*act)(entry->info);
    };
  };
  connect(compare_->progress(), &ProgressStrip::cancel_asked, this, act_on(&RunLauncher::cancel));
  connect(compare_->progress(), &ProgressStrip::pause_asked, this, act_on(&RunLauncher::pause));
  connect(compare_->progress(), &ProgressStrip::continue_asked, this, act_on(&RunLauncher::go_on));
  connect(compare_->run_list(), &RunListPanel::resume_asked, this, act_on(&RunLauncher::resume));
  connect(compare_->run_view(), &RunView::resume_asked, this, act_on(&RunLauncher::resume));
  connect(compare_->run_list(), &RunListPanel::again_asked, this, act_on(&RunLauncher::again));
  connect(compare_->run_view(), &RunView::again_asked, this, act_on(&RunLauncher::again));
  connect(store_.reader(), &StoreReader::heats_read, compare_->progress(),
          &ProgressStrip::show_heats);
  wire_run_list();
}

void MainWindow::wire_run_list() {
  RunListPanel* list = compare_->run_list();
  // By the reader itself: a field that loses the keyboard may tell while the window is closing.
  connect(list, &RunListPanel::rename_wanted, store_.reader(),
          [reader = store_.reader()](const QString& uuid, const QString& name) {
            reader->describe_run(uuid, {.name = name.toStdString()});
          });
  connect(list, &RunListPanel::note_wanted, store_.reader(),
          [reader = store_.reader()](const QString& uuid, const QString& note) {
            reader->describe_run(uuid, {.note = note.toStdString()});
          });
  connect(list, &RunListPanel::tags_wanted, store_.reader(), &StoreReader::change_tags);
  connect(list, &RunListPanel::trash_wanted, store_.reader(), &StoreReader::put_in_trash);
  connect(list, &RunListPanel::restore_wanted, store_.reader(), &StoreReader::take_from_trash);
  connect(list, &RunListPanel::remove_wanted, store_.reader(), &StoreReader::remove_runs);
  connect(list, &RunListPanel::empty_trash_wanted, store_.reader(), &StoreReader::empty_trash);
  connect(list, &RunListPanel::import_file_wanted, store_.reader(), &StoreReader::import_file);
  connect(list, &RunListPanel::new_run_wanted, this, &MainWindow::open_new_run);
  connect(list, &RunListPanel::export_asked, this, &MainWindow::export_runs);
  connect(list, &RunListPanel::import_asked, this, &MainWindow::import_runs);
  connect(store_.reader(), &StoreReader::trashed, compare_, &ComparePage::show_trashed);
  connect(store_.reader(), &StoreReader::published_read, compare_, &ComparePage::show_published);
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
    patterns_ = new PatternsPage(editor_);
    patterns_->restore(QSettings().value(QStringLiteral("patterns/chosen")).toMap());
    add_page(patterns_);
    patterns_->set_measuring(runs_.live() != nullptr);
    connect(patterns_, &PatternsPage::ceilings_wanted, store_.reader(),
            &StoreReader::read_ceilings);
    connect(store_.reader(), &StoreReader::ceilings_read, patterns_,
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
  ask_for_new_file(
      this, tr("Export runs"), name, {QStringLiteral("attn")},
      [this, uuids](const QString& file) { store_.post(&StoreReader::export_runs, uuids, file); });
}

void MainWindow::open_new_run() {
  show_page(compare_page);
  if (!commands_->run_action()->isEnabled()) return;  // the page says why
  if (!new_run_) make_new_run();
  implementations_.ask();
  new_run_->open();
}

void MainWindow::make_new_run() {
  new_run_ = new NewRunDialog(this);
  new_run_->set_devices(devices_.devices());
  new_run_->set_device(commands_->device());
  forecast_.set_measuring(runs_.live() != nullptr);
  connect(new_run_, &NewRunDialog::start_asked, &launcher_, &RunLauncher::start);
  connect(new_run_, &NewRunDialog::forecast_wanted, &forecast_, &SweepForecast::ask);
  connect(&forecast_, &SweepForecast::answered, new_run_,
          [this] { new_run_->set_forecast(forecast_.forecast()); });
  connect(&devices_, &DeviceList::answered, new_run_,
          [this] { new_run_->set_devices(devices_.devices()); });
  connect(commands_, &CommandBar::device_chosen, new_run_, &NewRunDialog::set_device);
  connect(&implementations_, &ImplementationList::answered, new_run_, [this] {
    new_run_->set_implementations(implementations_.implementations(), implementations_.problem());
  });
}

void MainWindow::ask_for_open() {
  ask_for_file(this, tr("Open"),
               tr("All of AttnScope's (*.attn *.db *.json *.safetensors);;Runs (*.attn *.db);;"
                  "Sweeps and patterns (*.json);;Attention dumps (*.safetensors);;All files (*)"),
               [this](const QString& file) { open_file(file); });
}

bool MainWindow::open_file(const QString& file) {
  const Result<FileKind> kind = kind_of(file.toStdString());
  if (!kind) {
    refuse_file(file, words(kind.error().message));
    return false;
  }
  switch (*kind) {
    case FileKind::database:
      store_.post(&StoreReader::try_database, file);
      return true;
    case FileKind::exported_runs:
      show_page(compare_page);
      store_.post(&StoreReader::import_file, file);
      return true;
    case FileKind::sweep:
      return open_sweep(file);
    case FileKind::pattern:
      show_page(patterns_page);
      return patterns()->open_file(file).has_value();
    case FileKind::dump:
      attention()->open_file(file);  // which remembers it once it is open
      show_page(attention_page);
      return true;
  }
  return false;
}

bool MainWindow::open_sweep(const QString& file) {
  const auto text = read_text_file(file.toStdString(), "sweep file", largest_sweep);
  const auto sweep =
      text.and_then([&](const std::string& json) { return parse_sweep(json, file.toStdString()); });
  if (!sweep) {
    refuse_file(file, words(sweep.error().message));
    return false;
  }
  open_new_run();
  if (!new_run_ || !new_run_->begin_with(words(*text))) return false;
  remember_file(file);
  return true;
}

// Nothing that is open changes; but whoever meant this sweep shall not start the one in the dialog.
void MainWindow::refuse_file(const QString& file, const QString& sentence) {
  show_page(compare_page);
  compare_->messages()->show_error(sentence);
  const bool meant_as_sweep = file.endsWith(QStringLiteral(".json"));
  if (meant_as_sweep && new_run_ && new_run_->isVisible()) new_run_->refuse(sentence);
}

void MainWindow::wire_files() {
  connect(store_.reader(), &StoreReader::database_tried, this,
          [this](const QString& file, const QString& problem) {
            if (!problem.isEmpty()) return refuse_file(file, problem);
            remember_file(file);
            ask_for_window({.database = std::filesystem::absolute(file.toStdString())});
          });
  connect(store_.reader(), &StoreReader::file_imported, this,
          [this](const QString& file, const QString& uuid) {
            remember_file(file);
            compare_->choose_run(uuid);
          });
}

void MainWindow::import_runs() {
  show_page(compare_page);
  ask_for_file(this, tr("Import runs"), tr("Runs (*.attn)"),
               [this](const QString& file) { store_.post(&StoreReader::import_file, file); });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  for (const QString& file : local_files(*event->mimeData())) {
    if (!open_file(file)) return;  // its sentence stands; the next file's would replace it
  }
}

}  // namespace attnscope::gui
