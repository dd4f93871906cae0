// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/training_page.h"

#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/table_text.h"
#include "app/gui/session/opened_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

const auto files_key = QStringLiteral("files");

QPushButton* button_of(QAction* action, const char* name) {
  auto* button = new QPushButton(action->text());
  button->setObjectName(QLatin1String(name));
  button->setToolTip(action->toolTip());
  QObject::connect(button, &QPushButton::clicked, action, &QAction::trigger);
  const auto follow = [button, action] { button->setEnabled(action->isEnabled()); };
  QObject::connect(action, &QAction::changed, button, follow);
  follow();
  return button;
}

}  // namespace

TrainingPage::TrainingPage(QWidget* parent)
    : Page(parent),
      open_action_(add_action(this, tr("Open &training…"), QKeySequence(tr("Ctrl+T")),
                              &TrainingPage::ask_for_training)),
      close_action_(add_action(this, tr("&Close training"), QKeySequence(tr("Ctrl+W")),
                               &TrainingPage::close_training)),
      chart_(new charts::RunChart),
      table_(new ReadingTable),
      messages_(new MessageBar(this)) {
  open_action_->setToolTip(
      tr("A folder that 'attnscope train' writes into, or has written (Ctrl+T)"));
  close_action_->setToolTip(tr("No longer show the chosen one, or the last (Ctrl+W)"));
  chart_->setObjectName(QStringLiteral("training_chart"));
  table_->setObjectName(QStringLiteral("trainings"));
  table_->setAccessibleName(tr("What the trainings have reached"));
  table_->setModel(&rows_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  auto* column = new QWidget;
  auto* parts = new QVBoxLayout(column);
  parts->setContentsMargins({});
  parts->addWidget(chart_, 1);
  parts->addWidget(table_);
  // Many panels or large text make the page scroll.
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setWidget(column);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(space::around);
  layout->addWidget(build_head());
  layout->addWidget(scroll, 1);
  connect(&curves_, &TrainingCurves::changed, this, &TrainingPage::show_curves);
  connect(&curves_, &TrainingCurves::opened, this,
          [](const QString& file) { remember_file(file); });
  connect(&curves_, &TrainingCurves::failed, this,
          [this](const QString& sentence) { messages_->show_error(sentence); });
  connect(chart_, &charts::RunChart::export_wanted, this, &TrainingPage::export_figure);
  show_curves();
}

QWidget* TrainingPage::build_head() {
  auto* head = new QWidget;
  auto* layout = new QHBoxLayout(head);
  layout->setContentsMargins({});
  layout->addWidget(button_of(open_action_, "open_training"));
  layout->addWidget(button_of(close_action_, "close_training"));
  layout->addStretch(1);
  return head;
}

void TrainingPage::ask_for_training() {
  const QStringList before = recent_files(FileKind::training);
  const QString first = before.isEmpty() ? QString() : QFileInfo(before.front()).path();
  ask_for_folder(this, tr("Open training"), first,
                 [this](const QString& folder) { open_file(folder); });
}

void TrainingPage::close_training() {
  std::set<std::size_t, std::greater<>> places;  // from behind: closing one moves those behind it
  for (const QModelIndex& row : table_->selectionModel()->selectedRows())
    places.insert(static_cast<std::size_t>(row.row()));
  if (places.empty() && !curves_.all().empty()) places.insert(curves_.all().size() - 1);
  for (const std::size_t at : places) curves_.close(at);
}

void TrainingPage::show_curves() {
  const std::vector<report::TrainingCurve>& all = curves_.all();
  chart_->set_contenders(report::names_of(all));
  chart_->set_placeholder(
      all.empty() ? tr("Open the folder of a training: its loss is drawn here while it goes on.")
                  : tr("No step is done yet."));
  chart_->set_facets(all.empty() ? report::Facets() : report::training_figure(all));
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
  // What is chosen stays chosen while numbers change.
  std::vector<int> selected;
  for (const QModelIndex& row : table_->selectionModel()->selectedRows())
    selected.push_back(row.row());
  const auto count = static_cast<int>(rows.size());
  const bool as_many = count == rows_.rowCount();
  rows_.set_table(std::move(columns), std::move(rows));
  for (const int row : selected) {
    if (as_many) {
      table_->selectionModel()->select(rows_.index(row, 0),
                                       QItemSelectionModel::Select | QItemSelectionModel::Rows);
    }
  }
  constexpr int most_rows = 6;  // more scroll
  table_->setVisible(count > 0);
  table_->setFixedHeight(
      table_->verticalHeader()->defaultSectionSize() * std::min(count, most_rows) +
      table_->horizontalHeader()->sizeHint().height() +
      table_->horizontalScrollBar()->sizeHint().height() + 2 * table_->frameWidth());
  table_->resizeColumnsToContents();
  close_action_->setEnabled(count > 0);
  Q_EMIT offers_changed();
}

void TrainingPage::copy_table(report::TableFormat format) {
  QApplication::clipboard()->setText(clipboard_text(report::training_sheet(curves_.all()), format));
}

bool TrainingPage::has_figure() const {
  return !chart_->page().empty();
}

void TrainingPage::export_figure() {
  export_chart(*chart_, QStringLiteral("training"), [this](const QString& sentence) {
    messages_->show_info(sentence);
    Q_EMIT succeeded(sentence);
  });
}

QList<Page::PageActions> TrainingPage::page_actions() const {
  return {{tr("On page Training"), actions()}};
}

QVariantMap TrainingPage::chosen() const {
  QStringList files = kept_;  // never shown, they are still to be opened
  for (const report::TrainingCurve& curve : curves_.all()) files.append(words(curve.file.string()));
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
