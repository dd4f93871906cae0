// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/training_page.h"

#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QTableView>
#include <algorithm>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/table_text.h"
#include "app/gui/session/opened_files.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/theme.h"
#include "app/gui/views/training_dialog.h"
#include "views/ui_training_page.h"

namespace attnscope::gui {
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
  open_action_->setToolTip(
      tr("A folder that 'attnscope train' writes into, or has written (Ctrl+T)"));
  stop_action_->setToolTip(
      tr("The chosen one, or the last that goes on, behind its step; started again, it goes on "
         "from there"));
  close_action_->setToolTip(tr("No longer show the chosen one, or the last (Ctrl+W)"));
  ui_->setupUi(this);
  ui_->column->setContentsMargins(space::around);
  new FlowLayout(ui_->head);
  ended_->setObjectName(QStringLiteral("training_ended"));
  ui_->column->insertWidget(1, ended_);
  QAction* start = add_action(this, tr("New training…"), QKeySequence(tr("Ctrl+Shift+T")),
                              &TrainingPage::start_training);
  start->setToolTip(tr("Trains a checkpoint further, with any pattern (Ctrl+Shift+T)"));
  ui_->new_training->setDefaultAction(start);
  ui_->open_training->setDefaultAction(open_action_);
  ui_->stop_training->setDefaultAction(stop_action_);
  ui_->close_training->setDefaultAction(close_action_);
  ui_->trainings->setModel(&rows_);
  connect(ui_->trainings->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &TrainingPage::update_actions);
  connect(&curves_, &TrainingCurves::changed, this, &TrainingPage::show_curves);
  connect(&curves_, &TrainingCurves::opened, this,
          [](const QString& file) { remember_file(file); });
  connect(&curves_, &TrainingCurves::failed, this,
          [this](const QString& sentence) { messages_->show_error(sentence); });
  connect(launcher_, &RunLauncher::training_begun, this, [this](const QString& folder) {
    ended_->clear();
    open_file(folder);
  });
  connect(launcher_, &RunLauncher::training_ended, this,
          [this](const QString& folder, const QString& text, bool is_whole) {
            const QString why =
                text.isEmpty() ? tr("it ended without a word. Was it killed?") : text;
            if (is_whole) {
              messages_->show_info(tr("%1: the training is done.").arg(folder));
            } else if (text.startsWith(QLatin1String("interrupted"))) {
              ended_->show_info(tr("%1: %2; New training… with the same entries goes on with it.")
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

QStringList TrainingPage::chosen_that_go_on() const {
  QStringList folders;
  const auto add = [&](std::size_t at) {
    const QString folder = words(curves_.all()[at].file.parent_path().string());
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
  for (const QString& folder : chosen_that_go_on()) launcher_->stop_training(folder);
}

void TrainingPage::update_actions() {
  close_action_->setEnabled(!curves_.all().empty());
  stop_action_->setEnabled(!chosen_that_go_on().isEmpty());
}

void TrainingPage::show_curves() {
  const std::vector<TrainingCurve>& all = curves_.all();
  chart()->set_contenders(report::names_of(all));
  chart()->set_placeholder(
      all.empty()
          ? tr("Open the folder of a training, or start a new one: its loss is drawn here while it "
               "goes on.")
          : tr("No step is done yet."));
  chart()->set_facets(all.empty() ? report::Facets() : report::training_figure(all));
  const report::Sheet sheet = report::training_sheet(all);
  std::vector<RowsModel<std::vector<std::string>>::Column> columns;
  columns.reserve(sheet.columns.size());
  for (std::size_t at = 0; at < sheet.columns.size(); ++at) {
    const QString tip = words(sheet.columns[at].title);
    QString title = tip;
    for (const QString& word : {QStringLiteral("last"), QStringLiteral("a second")})
      title.replace(QLatin1Char(' ') + word, QLatin1Char('\n') + word);
    columns.push_back({title, tip, sheet.columns[at].is_number,
                       [at](const std::vector<std::string>& row) { return words(row[at]); }});
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
  for (const TrainingCurve& curve : curves_.all()) files.append(words(curve.file.string()));
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
