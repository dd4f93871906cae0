// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_table.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/session/text.h"
#include "app/gui/views/cell_delegate.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
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
      form_(picker(QStringLiteral("table_form"), tr("Form of the table"),
                   tr("The run's cells along two keys, or one below the other (Ctrl+Shift+T goes "
                      "between the two)"))),
      rows_(picker(QStringLiteral("pivot_rows"), tr("Rows of the table"),
                   tr("What each row of the table is"))),
      columns_(picker(QStringLiteral("pivot_columns"), tr("Columns of the table"),
                      tr("What each column of the table is"))),
      cells_(picker(QStringLiteral("pivot_cells"), tr("Cells of the table"),
                    tr("What each cell of the table shows; times and memory are per document"))),
      save_(new QPushButton(tr("Save table"))),
      problem_(new QLabel),
      list_(new QTableView),
      pivot_(new QTableView),
      stack_(new QStackedWidget),
      delegate_(new CellDelegate(this)) {
  choice_.columns.clear();  // along x, until a person chooses
  proxy_.setSourceModel(&list_model_);
  proxy_.setSortRole(sort_role);
  list_->setModel(&proxy_);
  prepare(list_, QStringLiteral("cells"), tr("Cells of the run"));
  list_->setSelectionBehavior(QAbstractItemView::SelectRows);
  list_->setSortingEnabled(true);
  list_->sortByColumn(-1, Qt::AscendingOrder);  // the run's own order until a header is clicked
  list_->horizontalHeader()->setStretchLastSection(true);
  list_->horizontalHeader()->setSectionsMovable(true);
  pivot_->setModel(&pivot_model_);
  prepare(pivot_, QStringLiteral("pivot"), tr("Cells of the run along two keys"));
  stack_->addWidget(pivot_);
  stack_->addWidget(list_);

  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->hide();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(build_selectors());
  layout->addWidget(problem_);
  layout->addWidget(stack_, 1);
  show_list(QSettings().value(QStringLiteral("compare/table_form")).toString() ==
            QLatin1String("list"));
}

QWidget* RunTable::build_selectors() {
  form_->addItems({tr("Along two keys"), tr("List of all cells")});
  for (const Cells& cells : offered_cells()) cells_->addItem(cells.name);
  auto* formats = new QMenu(save_);
  for (const report::TableFormatName& entry : report::table_formats()) {
    formats->addAction(tr("As %1…").arg(words(entry.title)), this,
                       [this, format = entry.format] { Q_EMIT save_asked(format); });
  }
  save_->setObjectName(QStringLiteral("save_table"));
  save_->setMenu(formats);
  save_->setToolTip(tr("Write the table that is shown into a file"));
  of_pivot_ = {labelled(tr("R&ows"), rows_), labelled(tr("Co&lumns"), columns_),
               labelled(tr("&Cells"), cells_)};
  auto* selectors = new QWidget;
  auto* flow = new FlowLayout(12, selectors);
  flow->addWidget(labelled(tr("&Table"), form_));
  for (QWidget* pair : of_pivot_) flow->addWidget(pair);
  flow->addWidget(save_);

  connect(form_, &QComboBox::activated, this, [this](int index) {
    show_list(index == 1);
    remember();
  });
  connect(rows_, &QComboBox::activated, this, [this] { choose_keys(true); });
  connect(columns_, &QComboBox::activated, this, [this] { choose_keys(false); });
  connect(cells_, &QComboBox::activated, this, [this](int index) {
    choice_.cells = offered_cells()[static_cast<std::size_t>(index)].quantities;
    Q_EMIT choice_changed();
  });
  return selectors;
}

void RunTable::prepare(QTableView* table, const QString& name, const QString& accessible_name) {
  table->setObjectName(name);
  table->setAccessibleName(accessible_name);
  table->setItemDelegate(delegate_);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setWordWrap(false);
  table->setTabKeyNavigation(false);  // Tab goes on to the next control, arrows walk the cells
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setResizeContentsPrecision(rows_measured_for_widths);
  table->setMinimumHeight(5 * table->fontMetrics().height());
  copy_selection_by_keyboard(table);
  connect(table->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& current) {
            const QVariant row = current.data(table_row_role);
            if (!choosing_ && row.isValid()) Q_EMIT row_chosen(row.toULongLong());
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

void RunTable::show_list(bool list) {
  form_->setCurrentIndex(list ? 1 : 0);
  const bool had_focus = shown()->hasFocus();
  stack_->setCurrentWidget(list ? list_ : pivot_);
  for (QWidget* pair : of_pivot_) pair->setVisible(!list);
  if (had_focus) shown()->setFocus();
}

bool RunTable::shows_list() const {
  return stack_->currentWidget() == list_;
}

QTableView* RunTable::shown() const {
  return shows_list() ? list_ : pivot_;
}

void RunTable::remember() const {
  QSettings().setValue(QStringLiteral("compare/table_form"),
                       shows_list() ? QStringLiteral("list") : QStringLiteral("keys"));
}

void RunTable::show_run(const RunPointer& run) {
  const bool same_run = this->run() && this->run()->request.uuid == run->request.uuid;
  const bool same_shape = same_run && this->run()->request.pivot == run->request.pivot;
  std::vector<std::string> ids;
  ids.reserve(static_cast<std::size_t>(run->contenders.size()));
  for (const QString& id : run->contenders) ids.push_back(id.toStdString());
  delegate_->set_contenders(ids);
  list_model_.set_run(run);
  pivot_model_.set_run(run);
  span_headings();
  fit_columns(list_, same_run);
  fit_columns(pivot_, same_shape);
  if (!same_run) {
    list_->scrollToTop();
    pivot_->scrollToTop();
  }
  show_selectors(*run);
}

void RunTable::show_selectors(const RunSnapshot& run) {
  fill(rows_, run.pivot_keys, run.request.pivot.rows);
  fill(columns_, run.pivot_keys, run.request.pivot.columns);
  const std::vector<Cells> offered = offered_cells();
  const auto chosen = std::ranges::find(offered, run.request.pivot.cells, &Cells::quantities);
  cells_->setCurrentIndex(static_cast<int>(chosen - offered.begin()));
  save_->setEnabled(!run.table.rows.empty());
  problem_->setText(run.pivot_problem);
  problem_->setVisible(!run.pivot_problem.isEmpty());
}

/// Wide enough for what they hold; within one run never narrower than they were.
void RunTable::fit_columns(QTableView* table, bool keeps_widths) {
  for (int column = 0; column < table->model()->columnCount(); ++column) {
    int least = keeps_widths ? table->columnWidth(column) : 0;
    // The widest words of a verdict may lie below the rows that are looked at.
    if (table == list_ && column == CellTableModel::against_baseline) {
      const QString widest = words(statistics::name_of(statistics::Verdict::no_difference_shown));
      least =
          std::max(least, table->fontMetrics().horizontalAdvance(widest + QStringLiteral("mm")));
    }
    table->resizeColumnToContents(column);
    if (table->columnWidth(column) < least) table->setColumnWidth(column, least);
  }
}

void RunTable::span_headings() {
  pivot_->clearSpans();
  const int columns = pivot_model_.columnCount();
  for (int row = 0; row < pivot_model_.rowCount(); ++row) {
    if (pivot_model_.is_heading(row) && columns > 1) pivot_->setSpan(row, 0, 1, columns);
  }
}

void RunTable::choose_row(std::size_t table_row) {
  choosing_ = true;
  const QModelIndex in_pivot = pivot_model_.index_of(table_row);
  if (in_pivot.isValid() && pivot_->currentIndex().data(table_row_role).toULongLong() != table_row)
    pivot_->setCurrentIndex(in_pivot);
  const QModelIndex in_list =
      proxy_.mapFromSource(list_model_.index(static_cast<int>(table_row), 0));
  if (in_list.isValid() && list_->currentIndex().row() != in_list.row())
    list_->setCurrentIndex(in_list);
  choosing_ = false;
}

std::string RunTable::text(report::TableFormat format) const {
  if (!run()) return {};
  return shows_list() ? report::write_table(run()->table, format)
                      : report::write_pivot(run()->table, run()->pivot, format);
}

}  // namespace attnscope::gui
