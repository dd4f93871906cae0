// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/training_page.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTableView>
#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/page.h"
#include "app/gui/views/theme.h"
#include "views/ui_training_dialog.h"
#include "views/ui_training_page.h"

namespace attnscope::gui {

namespace fs = std::filesystem;

TrainingCurves::TrainingCurves(QObject* parent) : QObject(parent) {
  second_.setInterval(std::chrono::seconds(1));
  connect(&second_, &QTimer::timeout, this, &TrainingCurves::poll);
  connect(&job_, &LatestJob::finished, this, [this] {
    if (!to_open_.empty()) poll();
  });
}

void TrainingCurves::open(const QString& place) {
  std::error_code failed;
  fs::path file = fs::absolute(place.toStdString(), failed).lexically_normal();
  if (fs::is_directory(file, failed)) file /= training_curve_file;
  if (std::ranges::find(followed_, file, &Followed::file) != followed_.end())
    return Q_EMIT opened(qstring(file.string()));
  if (std::ranges::find(to_open_, file) == to_open_.end()) to_open_.push_back(std::move(file));
  poll();
}

void TrainingCurves::close(std::size_t at) {
  if (at >= curves_.size()) return;
  curves_.erase(curves_.begin() + static_cast<std::ptrdiff_t>(at));
  followed_.erase(followed_.begin() + static_cast<std::ptrdiff_t>(at));
  Q_EMIT changed();
}

void TrainingCurves::set_watching(bool watching) {
  if (!watching) return second_.stop();
  second_.start();
  poll();
}

std::optional<TrainingCurves::Look> TrainingCurves::look_at(const fs::path& file) {
  std::error_code failed;
  Look poll{.bytes = fs::file_size(file, failed), .time = {}};
  if (failed) return std::nullopt;
  poll.time = fs::last_write_time(file, failed);
  return failed ? std::nullopt : std::optional(poll);
}

// One job at a time: a read is not discarded because the file has grown.
void TrainingCurves::poll() {
  if (job_.is_busy() || (followed_.empty() && to_open_.empty())) return;
  std::vector<Followed> wanted;
  if (second_.isActive()) wanted = followed_;
  for (fs::path& file : to_open_)
    wanted.push_back({.file = std::move(file), .seen = std::nullopt, .is_open = false});
  to_open_.clear();
  job_.start([this, wanted = std::move(wanted)](const LatestJob::Token& token) {
    std::vector<Answer> answers;
    for (const Followed& followed : wanted) {
      const std::optional<Look> now = look_at(followed.file);
      if (followed.is_open && now == followed.seen) continue;
      answers.push_back({.of = {.file = followed.file, .seen = now, .is_open = followed.is_open},
                         .curve = read_training_curve(followed.file)});
    }
    if (answers.empty()) return;
    token.deliver([this, answers = std::move(answers)]() mutable { take(std::move(answers)); });
  });
}

void TrainingCurves::take(std::vector<Answer> answers) {
  bool any = false;
  for (Answer& answer : answers) {
    const QString file = qstring(answer.of.file.string());
    const auto found = std::ranges::find(followed_, answer.of.file, &Followed::file);
    const bool is_there = found != followed_.end();
    if (answer.of.is_open && !is_there) continue;  // it has been closed
    if (is_there) found->seen = answer.of.seen;
    if (!answer.curve) {
      Q_EMIT failed(qstring(answer.curve.error().message), file);
      continue;
    }
    any = true;
    if (is_there) {
      curves_[static_cast<std::size_t>(found - followed_.begin())] = std::move(*answer.curve);
    } else {
      curves_.push_back(std::move(*answer.curve));
      followed_.push_back({.file = answer.of.file, .seen = answer.of.seen, .is_open = true});
      Q_EMIT opened(file);
    }
  }
  if (any) Q_EMIT changed();
}

namespace {

const auto kept_key = QStringLiteral("training/new");
const auto pattern_key = QStringLiteral("training/pattern");

/// The option that receives a field's text; it is derived from the field's name.
QString option_of(const QWidget& field) {
  return QStringLiteral("--") + field.objectName().replace(QLatin1Char('_'), QLatin1Char('-'));
}

}  // namespace

TrainingDialog::TrainingDialog(RunLauncher* launcher, QWidget* parent)
    : QDialog(parent), launcher_(launcher), ui_(std::make_unique<Ui::TrainingDialog>()) {
  ui_->setupUi(this);
  ui_->pattern->offer(&patterns_, tr("The checkpoint's own"));
  explain_fields(*this);
  ui_->buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  start_ = ui_->buttons->addButton(tr("&Start"), QDialogButtonBox::ActionRole);
  start_->setObjectName(QStringLiteral("start_training"));
  start_->setDefault(true);
  restore();
  connect(start_, &QPushButton::clicked, this, &TrainingDialog::start);
  connect(ui_->buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  for (const QLineEdit* line : findChildren<QLineEdit*>())
    connect(line, &QLineEdit::textChanged, this, &TrainingDialog::check);
  connect(ui_->pattern, &PatternPicker::file_failed, ui_->problem, &ProblemLabel::set_problem);
  connect(launcher_, &RunLauncher::training_begun, this, &QDialog::accept);
  connect(launcher_, &RunLauncher::training_refused, this, [this](const QString& sentence) {
    set_waiting(false);
    ui_->problem->set_problem(sentence);
  });
  check();
}

TrainingDialog::~TrainingDialog() = default;

void TrainingDialog::restore() {
  const QSettings settings;
  const QVariantMap kept = settings.value(kept_key).toMap();
  for (FileField* field : findChildren<FileField*>())
    field->set_text(kept.value(field->objectName()).toString());
  ui_->others->setText(kept.value(ui_->others->objectName()).toString());
  ui_->steps->setValue(kept.value(ui_->steps->objectName(), ui_->steps->value()).toInt());
  for (QComboBox* box : {ui_->objective, ui_->keep})
    box->setCurrentIndex(kept.value(box->objectName()).toInt());
  ui_->pattern->restore(settings.value(pattern_key).toMap());
}

void TrainingDialog::keep() const {
  QVariantMap kept{{ui_->others->objectName(), ui_->others->text()},
                   {ui_->steps->objectName(), ui_->steps->value()}};
  for (const FileField* field : findChildren<FileField*>())
    kept.insert(field->objectName(), field->text());
  for (const QComboBox* box : {ui_->objective, ui_->keep})
    kept.insert(box->objectName(), box->currentIndex());
  QSettings settings;
  settings.setValue(kept_key, kept);
  settings.setValue(pattern_key, ui_->pattern->chosen());
}

void TrainingDialog::check() {
  ui_->problem->set_problem({});
  bool is_complete = true;
  for (const FileField* needed : {ui_->checkpoint, ui_->triples, ui_->output})
    is_complete = is_complete && !needed->text().isEmpty();
  start_->setEnabled(is_complete && ui_->waiting->isHidden());
}

QStringList TrainingDialog::arguments() const {
  static const QStringList objectives{QStringLiteral("--margin-mse"), QStringLiteral("--ranknet"),
                                      QStringLiteral("--localized-ce")};
  static const QStringList kept{{}, QStringLiteral("--keep=best"), QStringLiteral("--keep=last")};
  QStringList all{objectives[ui_->objective->currentIndex()],
                  QStringLiteral("--steps=%1").arg(ui_->steps->value()),
                  kept[ui_->keep->currentIndex()]};
  all.removeAll({});
  for (const FileField* field : findChildren<FileField*>()) {
    if (!field->text().isEmpty()) all.append(option_of(*field) + QLatin1Char('=') + field->text());
  }
  if (const auto choice = ui_->pattern->choice(); choice && choice->window)
    all.append(QStringLiteral("--window=") + qstring(choice->window->text()));
  return all + QProcess::splitCommand(ui_->others->text());
}

void TrainingDialog::start() {
  keep();
  set_waiting(true);
  const auto choice = ui_->pattern->choice();
  launcher_->train(arguments(), choice ? pattern_json(choice->pattern) : std::string(),
                   ui_->output->text());
}

void TrainingDialog::set_waiting(bool waiting) {
  ui_->waiting->setVisible(waiting);
  ui_->fields->setEnabled(!waiting);
  check();
}

namespace {

const auto files_key = QStringLiteral("files");

}  // namespace

TrainingPage::TrainingPage(RunLauncher* launcher, QWidget* parent)
    : Page(parent),
      launcher_(launcher),
      open_action_(add_action(this, tr("Open training…"), QKeySequence(tr("Ctrl+T")),
                              &TrainingPage::ask_for_training)),
      stop_action_(add_action(this, tr("Stop training"), {}, &TrainingPage::stop_training)),
      close_action_(add_action(this, tr("Close training"), QKeySequence(tr("Ctrl+W")),
                               &TrainingPage::close_training)),
      messages_(new MessageBar(this)),
      ended_(new MessageBar),
      ui_(std::make_unique<Ui::TrainingPage>()) {
  open_action_->setToolTip(tr("Opens a folder written by 'attnscope train' (Ctrl+T)"));
  stop_action_->setToolTip(
      tr("Stops the selected training, or the last running one, after its current step; started "
         "again, it continues from there"));
  close_action_->setToolTip(tr("Closes the selected training, or the last one (Ctrl+W)"));
  ui_->setupUi(this);
  ui_->column->setContentsMargins(space::around);
  new FlowLayout(ui_->head);
  ended_->setObjectName(QStringLiteral("training_ended"));
  ui_->column->insertWidget(1, ended_);
  QAction* start = add_action(this, tr("New training…"), QKeySequence(tr("Ctrl+Shift+T")),
                              &TrainingPage::start_training);
  start->setToolTip(tr("Fine-tunes a checkpoint with any pattern (Ctrl+Shift+T)"));
  ui_->new_training->setDefaultAction(start);
  ui_->open_training->setDefaultAction(open_action_);
  ui_->stop_training->setDefaultAction(stop_action_);
  ui_->close_training->setDefaultAction(close_action_);
  ui_->trainings->setModel(&rows_);
  connect(ui_->trainings->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &TrainingPage::update_actions);
  connect(&curves_, &TrainingCurves::changed, this, &TrainingPage::show_curves);
  connect(&curves_, &TrainingCurves::opened, this,
          [](const QString& file) { remember_file(file, FileKind::training); });
  connect(&curves_, &TrainingCurves::failed, this,
          [this](const QString& sentence) { messages_->show_error(sentence); });
  connect(launcher_, &RunLauncher::training_begun, this, [this](const QString& folder) {
    ended_->clear();
    open_file(folder);
  });
  connect(launcher_, &RunLauncher::training_ended, this,
          [this](const QString& folder, const QString& text, bool is_complete) {
            const QString why =
                text.isEmpty() ? tr("it ended without a message. Was it killed?") : text;
            if (is_complete) {
              messages_->show_info(tr("%1: the training is done.").arg(folder));
            } else if (text.startsWith(QLatin1String("interrupted"))) {
              ended_->show_info(tr("%1: %2; New training… with the same entries continues it.")
                                    .arg(folder, text.section(QLatin1Char(';'), 0, 0)));
            } else {
              ended_->show_error(tr("%1: %2").arg(folder, why));
            }
            update_actions();
          });
  connect(chart(), &charts::RunChart::export_wanted, this, &TrainingPage::export_figure);
  show_curves();
}

TrainingPage::~TrainingPage() = default;

charts::RunChart* TrainingPage::chart() const {
  return ui_->training_chart;
}

QTableView* TrainingPage::table() const {
  return ui_->trainings;
}

void TrainingPage::start_training() {
  auto* dialog = new TrainingDialog(launcher_, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->open();
}

void TrainingPage::ask_for_training() {
  const QStringList before = recent_files(FileKind::training);
  const QString first = before.isEmpty() ? QString() : QFileInfo(before.front()).path();
  ask_for_folder(this, tr("Open training"), first,
                 [this](const QString& folder) { open_file(folder); });
}

std::set<std::size_t, std::greater<>> TrainingPage::chosen_rows() const {
  std::set<std::size_t, std::greater<>> places;
  for (const QModelIndex& row : table()->selectionModel()->selectedRows())
    places.insert(static_cast<std::size_t>(row.row()));
  if (places.empty() && !curves_.all().empty()) places.insert(curves_.all().size() - 1);
  return places;
}

QStringList TrainingPage::running_selection() const {
  QStringList folders;
  const auto add = [&](std::size_t at) {
    const QString folder = qstring(curves_.all()[at].file.parent_path().string());
    if (launcher_->is_training(folder)) folders.append(folder);
  };
  if (table()->selectionModel()->hasSelection()) {
    for (const std::size_t at : chosen_rows()) add(at);
  } else {  // the last of them
    for (std::size_t at = curves_.all().size(); at > 0 && folders.isEmpty(); --at) add(at - 1);
  }
  return folders;
}

void TrainingPage::close_training() {
  // In descending order: closing one shifts the later ones.
  for (const std::size_t at : chosen_rows()) curves_.close(at);
}

void TrainingPage::stop_training() {
  for (const QString& folder : running_selection()) launcher_->stop_training(folder);
}

void TrainingPage::update_actions() {
  close_action_->setEnabled(!curves_.all().empty());
  stop_action_->setEnabled(!running_selection().isEmpty());
}

void TrainingPage::show_curves() {
  const std::vector<TrainingCurve>& all = curves_.all();
  chart()->set_contenders(report::names_of(all));
  chart()->set_placeholder(all.empty() ? tr("Open the folder of a training, or start a new one: "
                                            "its loss is drawn here while it runs.")
                                       : tr("No step has finished yet."));
  chart()->set_facets(all.empty() ? report::Facets() : report::training_figure(all));
  const report::Sheet sheet = report::training_sheet(all);
  std::vector<RowsModel<std::vector<std::string>>::Column> columns;
  columns.reserve(sheet.columns.size());
  for (std::size_t at = 0; at < sheet.columns.size(); ++at) {
    const QString tip = qstring(sheet.columns[at].title);
    QString title = tip;
    for (const QString& word : {QStringLiteral("last"), QStringLiteral("a second")})
      title.replace(QLatin1Char(' ') + word, QLatin1Char('\n') + word);
    columns.push_back({title, tip, sheet.columns[at].is_number,
                       [at](const std::vector<std::string>& row) { return qstring(row[at]); }});
  }
  std::vector<std::vector<std::string>> rows;
  for (const report::SheetBlock& block : sheet.blocks) {
    for (const auto& cells : block.rows) {
      std::vector<std::string> row;
      row.reserve(cells.size());
      for (const report::SheetCell& cell : cells) row.push_back(report::text_of(cell.value));
      rows.push_back(std::move(row));
    }
  }
  // The selection is kept while numbers change.
  std::vector<int> selected;
  for (const QModelIndex& row : table()->selectionModel()->selectedRows())
    selected.push_back(row.row());
  const auto count = static_cast<int>(rows.size());
  const bool as_many = count == rows_.rowCount();
  rows_.set_table(std::move(columns), std::move(rows));
  for (const int row : selected) {
    if (as_many) {
      table()->selectionModel()->select(rows_.index(row, 0),
                                        QItemSelectionModel::Select | QItemSelectionModel::Rows);
    }
  }
  constexpr int most_rows = 6;  // more rows scroll
  table()->setVisible(count > 0);
  table()->setFixedHeight(height_of_rows(*table(), most_rows));
  table()->resizeColumnsToContents();
  update_actions();
  Q_EMIT offers_changed();
}

void TrainingPage::copy_table(report::TableFormat format) {
  QApplication::clipboard()->setText(clipboard_text(report::training_sheet(curves_.all()), format));
}

bool TrainingPage::has_figure() const {
  return !chart()->page().empty();
}

void TrainingPage::export_figure() {
  export_chart(*chart(), QStringLiteral("training"), [this](const QString& sentence) {
    messages_->show_info(sentence);
    Q_EMIT succeeded(sentence);
  });
}

QList<Page::PageActions> TrainingPage::page_actions() const {
  return {{tr("On page Training"), actions()}};
}

QVariantMap TrainingPage::chosen() const {
  QStringList files = kept_;  // if the page was never shown, they are still to be opened
  for (const TrainingCurve& curve : curves_.all()) files.append(qstring(curve.file.string()));
  return {{files_key, files}};
}

void TrainingPage::restore(const QVariantMap& chosen) {
  kept_ = chosen.value(files_key).toStringList();
}

void TrainingPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  for (const QString& file : std::exchange(kept_, {})) {
    if (QFileInfo::exists(file)) open_file(file);
  }
  curves_.set_watching(true);
}

void TrainingPage::hideEvent(QHideEvent* event) {
  Page::hideEvent(event);
  curves_.set_watching(false);
}

}  // namespace attnscope::gui
