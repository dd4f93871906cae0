// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/help_dialogs.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/page.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_notes.h"
#include "app/gui/views/run_view.h"
#include "app/gui/views/training_page.h"
#include "base/open_file.h"
#include "engine/store/location.h"
#include "engine/sweep/sweep.h"

namespace attnscope::gui {
namespace {

constexpr int slow_opening_ms = 1000;
constexpr QSize first_size(1280, 800), frame_room(16, 48);  // frame_room: for window borders

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
      compare_(new ComparePage(&runs_, store_)),
      editor_(options.patterns) {
  setWindowTitle(options.database == default_database()
                     ? QStringLiteral("AttnScope")
                     : tr("%1 - AttnScope").arg(qstring(options.database.filename().string())));
  setCentralWidget(pages_);
  add_page(compare_);
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
                                                 {tr("Attention"), tr("Ctrl+3")},
                                                 {tr("Training"), tr("Ctrl+4")}};
  for (const auto& [name, shortcut] : entries) {
    QAction* action = rail_->addAction(name);
    action->setCheckable(true);
    action->setShortcut(QKeySequence(shortcut));
    action->setToolTip(QStringLiteral("%1 (%2)").arg(name, shortcut));
    page_actions_->addAction(action);
    const auto number = static_cast<PageNumber>(page_actions_->actions().size() - 1);
    connect(action, &QAction::triggered, this, [this, number] { show_page(number); });
  }
  addToolBar(Qt::TopToolBarArea, commands_);
  build_menus();
  wire_store();
  wire_files();
  wire_runs();
  wire_commands();
  restore();
  if (editor_) (void)patterns();  // the page reports unsaved edits when the window closes
  setAcceptDrops(true);
  tint_icons();
  store_.start();
  store_.post(&StoreReader::read_published,
              results_folder(QCoreApplication::applicationDirPath().toStdString()));
  opening_.start(slow_opening_ms);
}

MainWindow::~MainWindow() = default;

void MainWindow::wire_store() {
  const StoreReader* reader = store_.reader();
  MessageBar* messages = compare_->messages();
  opening_.setSingleShot(true);
  connect(&opening_, &QTimer::timeout, this, [this, messages] {
    messages->show_info(tr("Opening the database %1.").arg(qstring(database_.string())));
  });
  connect(reader, &StoreReader::opened, &opening_, &QTimer::stop);
  for (const auto answered : {&StoreReader::refused, &StoreReader::waiting})
    connect(reader, answered, &opening_, &QTimer::stop);
  connect(reader, &StoreReader::opened, this, [this] {
    remember_database_ = !store::is_exported(database_);
    compare_->show_store_opened();
    commands_->set_refused({});
    if (!open_first_.empty()) open_file(qstring(std::exchange(open_first_, {}).string()));
    if (std::exchange(quick_when_open_, false)) start_quick_sweep();
  });
  connect(reader, &StoreReader::refused, compare_, &ComparePage::show_refused);
  connect(reader, &StoreReader::refused, commands_, &CommandBar::set_refused);
  connect(reader, &StoreReader::waiting, this, [this](const QString& sentence) {
    if (when_finished_) return offer_to_continue(sentence);
    compare_->show_waiting(sentence);
  });
  connect(reader, &StoreReader::lock_released, compare_, &ComparePage::show_lock_released);
  connect(reader, &StoreReader::warned, messages, &MessageBar::show_info);
  connect(reader, &StoreReader::succeeded, messages, &MessageBar::show_info);
  const auto show_error = [this, messages](const QString& sentence) {
    when_finished_ = nullptr;  // unsaved data keeps the window open
    messages->show_error(sentence);
  };
  connect(reader, &StoreReader::failed, this, show_error);
  connect(reader, &StoreReader::gone, this, [messages](const QString& sentence) {
    messages->show_error(sentence, tr("Open the database again"));
  });
  connect(reader, &StoreReader::damaged, this,
          [this, show_error](const QStringList& uuids, const QString& sentence) {
            runs_.mark_damaged(uuids);
            show_error(sentence);
          });
  connect(reader, &StoreReader::text_refused, this,
          [messages](const QString& typed, const QString& sentence) {
            messages->show_offer(tr("Your text was not stored: %1").arg(sentence), tr("Copy it"),
                                 {}, [typed] { QApplication::clipboard()->setText(typed); });
          });
  connect(reader, &StoreReader::runs_changed, this, &MainWindow::show_runs);
  connect(reader, &StoreReader::run_read, compare_, &ComparePage::show_run);
  connect(reader, &StoreReader::compared, compare_, &ComparePage::show_comparison);
  connect(reader, &StoreReader::trashed, compare_, &ComparePage::show_trashed);
  connect(reader, &StoreReader::published_read, compare_, &ComparePage::show_published);
  connect(reader, &StoreReader::heats_read, compare_->progress(), &ProgressStrip::show_heats);
  connect(compare_->run_view(), &RunView::run_wanted, reader, &StoreReader::show_run);
}

void MainWindow::show_runs(const RunListPointer& runs) {
  runs_.set_runs(runs);
  launcher_.set_runs(runs);
  compare_->run_list()->set_trash(runs);
  compare_->runs_changed();
  const RunEntry* live = runs_.live();
  commands_->set_live(live ? qstring(live->info.id.uuid) : QString());
  if (patterns_) patterns_->set_measuring(live != nullptr);
  forecast_.set_measuring(live != nullptr);
  if (!live) devices_.request();  // starts a worker, which would disturb a measurement
}

void MainWindow::wire_runs() {
  connect(&launcher_, &RunLauncher::starting, compare_, &ComparePage::show_starting);
  connect(&launcher_, &RunLauncher::started, compare_, &ComparePage::choose_run);
  connect(&launcher_, &RunLauncher::failed, this, [this](const QString& sentence) {
    show_page(compare_page);
    compare_->messages()->show_error(sentence);
    compare_->progress()->allow_again();
    commands_->allow_cancel();
    compare_->runs_changed();
  });
  const auto act_on = [this](void (RunLauncher::*act)(const RunInfo&)) {
    return [this, act](const QString& uuid) {
      if (const RunEntry* entry = runs_.entry(uuid)) (launcher_.*act)(entry->info);
    };
  };
  const RunListPanel* list = compare_->run_list();
  connect(commands_, &CommandBar::cancel_requested, this, act_on(&RunLauncher::cancel));
  connect(compare_->progress(), &ProgressStrip::pause_requested, this, act_on(&RunLauncher::pause));
  connect(compare_->progress(), &ProgressStrip::continue_requested, this,
          act_on(&RunLauncher::continue_run));
  connect(list, &RunListPanel::resume_requested, this, act_on(&RunLauncher::resume));
  connect(compare_->run_view(), &RunView::resume_requested, this, act_on(&RunLauncher::resume));
  connect(list, &RunListPanel::again_requested, this, act_on(&RunLauncher::measure_again));
  connect(compare_->run_view(), &RunView::again_requested, this,
          act_on(&RunLauncher::measure_again));
  connect(list, &RunListPanel::new_run_wanted, this, &MainWindow::open_new_run);
  connect(list, &RunListPanel::export_requested, this, &MainWindow::export_runs);
  connect(list, &RunListPanel::import_requested, this, &MainWindow::import_runs);
  connect(list->notes(), &RunNotes::all_stored, this, &MainWindow::continue_pending);
  connect(compare_, &ComparePage::quick_sweep_requested, this, &MainWindow::start_quick_sweep);
}

void MainWindow::add_page(Page* page) {
  pages_->addWidget(page);
  connect(page, &Page::run_requested, this, [this](const QString& sweep_text) {
    open_new_run();
    if (!sweep_text.isEmpty() && new_run_) new_run_->begin_with(sweep_text);
  });
}

void MainWindow::wire_commands() {
  connect(commands_, &CommandBar::device_chosen, this,
          [](const QString& kind) { QSettings().setValue(QStringLiteral("window/device"), kind); });
  connect(&devices_, &DeviceList::answered, this, [this] {
    if (!devices_.problem().isEmpty())
      return commands_->device_picker()->setToolTip(devices_.problem());
    commands_->set_devices(devices_.answer());
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

TrainingPage* MainWindow::training() {
  if (!training_) {
    training_ = new TrainingPage(&launcher_);
    training_->restore(QSettings().value(QStringLiteral("training/chosen")).toMap());
    add_page(training_);
  }
  return training_;
}

void MainWindow::show_page(PageNumber number) {
  page_actions_->actions().at(number)->setChecked(true);
  Page* page = compare_;
  if (number == patterns_page) page = patterns();
  if (number == attention_page) page = attention();
  if (number == training_page) page = training();
  const bool turned = pages_->currentWidget() != page;
  pages_->setCurrentWidget(page);
  commands_->set_page(page);
  // A page's shortcuts work only while the focus is inside the page.
  const QWidget* focused = focusWidget();
  if (turned && !(focused && page->isAncestorOf(focused)))
    (page->focusWidget() ? page->focusWidget() : page)->setFocus(Qt::OtherFocusReason);
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && page_actions_) tint_icons();
}

void MainWindow::tint_icons() {
  const char* icons[] = {"compare", "patterns", "attention", "training"};
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
    // An unchanged preset keeps its own text, byte for byte.
    const bool is_unchanged = commands_->device() == QLatin1String("cpu");
    return launcher_.start(is_unchanged ? sweep.text : on_device.dump(2));
  }
}

void MainWindow::export_runs(const QStringList& uuids) {
  if (uuids.isEmpty()) return;
  const RunEntry* entry = runs_.entry(uuids.front());
  const QString name =
      uuids.size() == 1 && entry
          ? QStringLiteral("%1-%2").arg(qstring(title_of(entry->info))).arg(entry->info.number)
          : QStringLiteral("runs");
  ask_for_new_file(
      this, tr("Export runs"), name, {QStringLiteral("attn")},
      [this, uuids](const QString& file) { store_.post(&StoreReader::export_runs, uuids, file); });
}

void MainWindow::open_new_run() {
  show_page(compare_page);
  if (!commands_->run_action()->isEnabled()) return;  // the page shows the reason
  if (!new_run_) make_new_run();
  implementations_.request();
  new_run_->open();
}

void MainWindow::make_new_run() {
  new_run_ = new NewRunDialog(this);
  new_run_->set_devices(devices_.answer());
  new_run_->set_device(commands_->device());
  forecast_.set_measuring(runs_.live() != nullptr);
  connect(new_run_, &NewRunDialog::start_requested, &launcher_, &RunLauncher::start);
  connect(new_run_, &NewRunDialog::programs_named, this, [this](const QStringList& programs) {
    launcher_.set_programs(programs);
    forecast_.set_programs(programs);
    implementations_.set_programs(programs);
    implementations_.request();
  });
  connect(new_run_, &NewRunDialog::forecast_wanted, &forecast_, &SweepForecast::request);
  connect(&forecast_, &SweepForecast::answered, new_run_,
          [this] { new_run_->set_forecast(forecast_.forecast()); });
  connect(&forecast_, &SweepForecast::changed, new_run_,
          [this] { new_run_->set_estimating(forecast_.is_pending()); });
  connect(&devices_, &DeviceList::answered, new_run_,
          [this] { new_run_->set_devices(devices_.answer()); });
  connect(commands_, &CommandBar::device_chosen, new_run_, &NewRunDialog::set_device);
  connect(&implementations_, &ImplementationList::answered, new_run_, [this] {
    new_run_->set_implementations(implementations_.answer(), implementations_.problem());
  });
}

bool MainWindow::open_file(const QString& file) {
  const Result<FileKind> kind = kind_of(file.toStdString());
  if (!kind) {
    refuse_file(file, qstring(kind.error().message));
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
    case FileKind::training:
      show_page(training_page);
      training()->open_file(file);  // which remembers it once it is open
      return true;
  }
  return false;
}

bool MainWindow::open_sweep(const QString& file) {
  const auto text = read_text_file(file.toStdString(), "sweep file", largest_sweep);
  const auto sweep =
      text.and_then([&](const std::string& json) { return parse_sweep(json, file.toStdString()); });
  if (!sweep) {
    refuse_file(file, qstring(sweep.error().message));
    return false;
  }
  open_new_run();
  if (!new_run_ || !new_run_->begin_with(qstring(with_whole_names(
                       *text, std::filesystem::path(file.toStdString()).parent_path()))))
    return false;
  remember_file(file, FileKind::sweep);
  return true;
}

// Data that is already open stays open. If the dialog shows another sweep, it must not be started
// in place of the refused one.
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
            remember_file(file, FileKind::database);
            finish_edits([this, file] {
              replace_by({.database = std::filesystem::absolute(file.toStdString())});
            });
          });
  connect(store_.reader(), &StoreReader::file_imported, this,
          [this](const QString& file, const QString& uuid) {
            remember_file(file, FileKind::exported_runs);
            compare_->choose_run(uuid);
          });
}

void MainWindow::import_runs() {
  show_page(compare_page);
  ask_for_file(this, tr("Import runs"), tr("Runs (*.attn *.attn.gz)"),
               [this](const QString& file) { store_.post(&StoreReader::import_file, file); });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  for (const QString& file : local_files(*event->mimeData())) {
    if (!open_file(file)) return;  // keeps its message, which that of the next file would replace
  }
}

void MainWindow::build_menus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence(tr("Ctrl+O")), this, [this] {
    ask_for_file(
        this, tr("Open"),
        tr("All AttnScope files (*.attn *.attn.gz *.db *.json *.safetensors training.tsv);;Runs "
           "(*.attn *.attn.gz *.db);;Sweeps and patterns (*.json);;Attention dumps "
           "(*.safetensors);;Trainings (training.tsv);;All files (*)"),
        [this](const QString& chosen) { open_file(chosen); });
  });
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fill_recent(recent); });
  fill_recent(recent);
  file->addSeparator();
  file->addAction(tr("&Import runs…"), this, &MainWindow::import_runs);
  file->addAction(tr("&Export runs…"), QKeySequence(tr("Ctrl+E")), this,
                  [this] { export_runs(compare_->run_list()->chosen_runs()); });
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence(tr("Ctrl+Q")), this, &QWidget::close);
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
  // If the page's run command is "New run…" as well, one menu entry has both shortcuts.
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
  const std::pair<Theme, QString> entries[] = {{Theme::system, tr("Follow the &desktop")},
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
  sizes->addAction(tr("&Desktop size"), this, [this] { set_text_size(100); });
  build_page_menu();
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keyboard shortcuts"), QKeySequence(tr("F1")), this, [this] {
    gui::show_shortcuts(*menuBar(), {compare_, patterns(), attention(), training()}, this);
  });
  help->addAction(tr("&About AttnScope"), this, [this] { gui::show_about(database_, this); });
}

void MainWindow::fill_recent(QMenu* menu) {
  menu->clear();
  for (const QString& file : recent_files())
    menu->addAction(file, this, [this, file] { open_file(file); });
  if (menu->isEmpty()) {
    menu->addAction(tr("No recent files"))->setEnabled(false);
    return;
  }
  menu->addSeparator();
  menu->addAction(tr("&Clear this list"), this, [] { forget_files(); });
}

// Fills the menu with the current page's actions, grouped by the part of the page in which their
// shortcuts work.
void MainWindow::build_page_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Page"));
  menu->menuAction()->setObjectName(page_menu_name);
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
  const qsizetype now = sizes.indexOf(stored_text_size());
  set_text_size(sizes[std::clamp<qsizetype>(now + direction, 0, sizes.size() - 1)]);
}

void MainWindow::set_text_size(int percent) {
  if (percent == stored_text_size()) return;
  // Opens a new window, because headings keep the size for which they were created. Unsaved pattern
  // edits move to the new window.
  finish_notes([this, percent] {
    store_text_size(percent);
    WindowOptions next{.database = database_};
    if (patterns_) next.patterns = patterns_->shared_editor();
    replace_by(next);
  });
}

void MainWindow::restore() {
  const QSettings settings;
  if (!restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray())) {
    const QRect available = screen()->availableGeometry();
    const QSize size = first_size.boundedTo(available.size() - frame_room);
    const QSize margin = available.size() - frame_room - size;
    resize(size);
    move(available.topLeft() + QPoint(margin.width() / 2, margin.height() / 2));
  }
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

void MainWindow::replace_by(const WindowOptions& next) {
  may_close_ = true;
  save();  // the next window restores it while this one is still open
  Q_EMIT window_requested(next);
}

void MainWindow::finish_edits(std::function<void()> then) {
  if (!patterns_ || !patterns_->has_unsaved()) return finish_notes(std::move(then));
  show_page(patterns_page);
  patterns_->ask_about_unsaved([this, then = std::move(then)] { finish_notes(then); });
}

void MainWindow::finish_notes(std::function<void()> then) {
  if (compare_->run_list()->notes()->store_edits()) return then();
  when_finished_ = std::move(then);
  show_page(compare_page);
  offer_to_continue(tr("Waiting until your changes to a run are stored."));
}

void MainWindow::offer_to_continue(const QString& sentence) {
  compare_->messages()->show_offer(sentence, tr("Continue without storing"), {},
                                   [this] { continue_pending(); });
}

void MainWindow::continue_pending() {
  if (const auto act = std::exchange(when_finished_, nullptr)) act();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_close_) {
    finish_edits([this] {
      may_close_ = true;
      close();  // has no effect if called from closeEvent
    });
    if (!may_close_) return event->ignore();
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
    settings.setValue(QStringLiteral("window/database"), qstring(database_.string()));
  settings.setValue(QStringLiteral("compare/baseline"), compare_->run_view()->preferred_baseline());
  settings.setValue(QStringLiteral("compare/chosen"), compare_->run_view()->chosen());
  if (patterns_) settings.setValue(QStringLiteral("patterns/chosen"), patterns_->chosen());
  if (attention_) settings.setValue(QStringLiteral("attention/chosen"), attention_->chosen());
  if (training_) settings.setValue(QStringLiteral("training/chosen"), training_->chosen());
}

}  // namespace attnscope::gui
