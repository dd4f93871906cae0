// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_table.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/session/text.h"
#include "app/gui/views/cell_delegate.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/popup_button.h"
#include "app/gui/views/run_export.h"
#include "app/gui/views/table_selection.h"

namespace attnscope::gui {
namespace {

using report::Quantity;

constexpr int rows_measured_for_widths = 100;

struct Cells {
  QString name;
  std::vector<Quantity> quantities;
};

std::vector<Cells> offered_cells() {
  return {{RunTable::tr("Time"), {Quantity::time}},
          {RunTable::tr("Memory"), {Quantity::memory}},
          {RunTable::tr("Time and memory"), {Quantity::time, Quantity::memory}},
          {RunTable::tr("Ratio to the baseline"), {Quantity::ratio}},
          {RunTable::tr("Share of the limit"), {Quantity::limit}},
          {RunTable::tr("Error"), {Quantity::error}},
          {RunTable::tr("Executed work"), {Quantity::executed}}};
}

void fill(QComboBox* box, const std::vector<std::string>& keys, const std::string& current) {
  QStringList values;
  for (int i = 0; i < box->count(); ++i) values.append(box->itemData(i).toString());
  QStringList wanted;
  for (const std::string& key : keys) wanted.append(words(key));
  if (values != wanted) {
    box->clear();
    for (const std::string& key : keys) box->addItem(words(report::axis_name(key)), words(key));
  }
  box->setCurrentIndex(box->findData(words(current)));
}

}  // namespace

RunTable::RunTable(QWidget* parent)
    : QWidget(parent),
      rows_(picker(QStringLiteral("pivot_rows"), tr("Rows of the table"),
                   tr("What each row of the table is"))),
      columns_(picker(QStringLiteral("pivot_columns"), tr("Columns of the table"),
                      tr("What each column of the table is"))),
      cells_(picker(QStringLiteral("pivot_cells"), tr("Cells of the table"),
                    tr("What each cell of the table shows; times and memory are per document"))),
      save_(new QPushButton(tr("Save table"))),
      problem_(new QLabel),
      view_(new QTableView),
      delegate_(new CellDelegate(this)) {
  choice_.columns.clear();  // along x, until a person chooses
  view_->setModel(&model_);
  prepare_view();
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->hide();
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(build_head());
  layout->addWidget(problem_);
  layout->addWidget(view_, 1);
}

QLayout* RunTable::build_head() {
  for (const Cells& cells : offered_cells()) cells_->addItem(cells.name);
  auto* formats = new QMenu(save_);
  for (const report::TableFormatName& entry : report::table_formats()) {
    formats->addAction(tr("As %1…").arg(words(entry.title)), this,
                       [this, format = entry.format] { Q_EMIT save_asked(format); });
  }
  save_->setObjectName(QStringLiteral("save_table"));
  save_->setMenu(formats);
  save_->setToolTip(tr("Write the table that is shown into a file"));
  auto* fields = new QWidget;
  auto* form = new QFormLayout(fields);
  form->addRow(tr("Rows"), rows_);
  form->addRow(tr("Columns"), columns_);
  form->addRow(tr("Cells"), cells_);
  choices_ = new PopupButton("table_choices", tr("What the table shows"), fields);
  auto* head = new QHBoxLayout;
  head->addWidget(choices_);
  head->addStretch();
  head->addWidget(save_);

  connect(rows_, &QComboBox::activated, this, [this] { choose_keys(true); });
  connect(columns_, &QComboBox::activated, this, [this] { choose_keys(false); });
  connect(cells_, &QComboBox::activated, this, [this](int index) {
    choice_.cells = offered_cells()[static_cast<std::size_t>(index)].quantities;
    Q_EMIT choice_changed();
  });
  return head;
}

void RunTable::prepare_view() {
  view_->setObjectName(QStringLiteral("pivot"));
  view_->setAccessibleName(tr("Cells of the run along two keys"));
  view_->setItemDelegate(delegate_);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setShowGrid(false);
  view_->setAlternatingRowColors(true);
  view_->setWordWrap(false);
  view_->setTabKeyNavigation(false);  // Tab goes on to the next control, arrows walk the cells
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(view_->fontMetrics().height() + 8);
  view_->horizontalHeader()->setHighlightSections(false);
  view_->horizontalHeader()->setResizeContentsPrecision(rows_measured_for_widths);
  view_->setMinimumHeight(5 * view_->fontMetrics().height());
  copy_selection_by_keyboard(view_);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& current) {
            const QVariant row = current.data(table_row_role);
            if (!choosing_ && row.isValid()) Q_EMIT row_chosen(row.toULongLong());
          });
  connect(view_, &QTableView::activated, this, [this](const QModelIndex& index) {
    if (index.data(table_row_role).isValid()) Q_EMIT row_opened();
  });
}

/// A key that the other selector had goes over to this one.
void RunTable::choose_keys(bool rows_changed) {
  const RunPointer& shown = run();
  const report::PivotChoice before = shown ? shown->request.pivot : choice_;
  choice_.rows = rows_->currentData().toString().toStdString();
  choice_.columns = columns_->currentData().toString().toStdString();
  if (choice_.rows == choice_.columns) {
    (rows_changed ? choice_.columns : choice_.rows) = rows_changed ? before.rows : before.columns;
  }
  Q_EMIT choice_changed();
}

void RunTable::show_run(const RunPointer& run) {
  const bool same_run = this->run() && this->run()->request.uuid == run->request.uuid;
  const bool same_shape = same_run && this->run()->request.pivot == run->request.pivot;
  std::vector<std::string> ids;
  ids.reserve(static_cast<std::size_t>(run->contenders.size()));
  for (const QString& id : run->contenders) ids.push_back(id.toStdString());
  delegate_->set_contenders(ids);
  model_.set_run(run);
  span_headings();
  fit_columns(same_shape);
  if (!same_run) view_->scrollToTop();
  show_selectors(*run);
}

void RunTable::show_selectors(const RunSnapshot& run) {
  fill(rows_, run.pivot_keys, run.request.pivot.rows);
  fill(columns_, run.pivot_keys, run.request.pivot.columns);
  const std::vector<Cells> offered = offered_cells();
  const auto chosen = std::ranges::find(offered, run.request.pivot.cells, &Cells::quantities);
  cells_->setCurrentIndex(static_cast<int>(chosen - offered.begin()));
  choices_->say(tr("%1 by %2: %3")
                    .arg(rows_->currentText(), columns_->currentText().toLower(),
                         cells_->currentText().toLower()));
  save_->setEnabled(!run.table.rows.empty());
  problem_->setText(run.pivot_problem);
  problem_->setVisible(!run.pivot_problem.isEmpty());
}

/// Wide enough for what they hold; within one shape never narrower than they were.
void RunTable::fit_columns(bool keeps_widths) {
  for (int column = 0; column < model_.columnCount(); ++column) {
    const int least = keeps_widths ? view_->columnWidth(column) : 0;
    view_->resizeColumnToContents(column);
    if (view_->columnWidth(column) < least) view_->setColumnWidth(column, least);
  }
}

void RunTable::span_headings() {
  view_->clearSpans();
  const int columns = model_.columnCount();
  for (int row = 0; row < model_.rowCount(); ++row) {
    if (model_.is_heading(row) && columns > 1) view_->setSpan(row, 0, 1, columns);
  }
}

void RunTable::choose_row(std::size_t table_row) {
  const QModelIndex cell = model_.index_of(table_row);
  const QVariant current = view_->currentIndex().data(table_row_role);
  if (!cell.isValid() || (current.isValid() && current.toULongLong() == table_row)) return;
  choosing_ = true;
  view_->setCurrentIndex(cell);
  choosing_ = false;
}

std::string RunTable::text(report::TableFormat format) const {
  return run() ? report::write_pivot(run()->table, run()->pivot, format) : std::string();
}

}  // namespace attnscope::gui
