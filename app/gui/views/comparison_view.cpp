// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/comparison_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/run_export.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

/// A difference in the colour of its verdict; its sign says the same.
class VerdictDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const QVariant verdict = index.data(ComparisonModel::verdict_role);
    if (!verdict.isValid()) return;
    const auto word = static_cast<statistics::Verdict>(verdict.toInt());
    if (word == statistics::Verdict::faster) {
      option->palette.setColor(QPalette::Text, good_text(option->palette));
    } else if (word == statistics::Verdict::slower) {
      option->palette.setColor(QPalette::Text, error_text(option->palette));
    }
  }
};

QString run_words(const RunInfo& run) {
  return QStringLiteral("%1 %2").arg(run.number).arg(words(title_of(run)));
}

QToolButton* text_button(const QString& text, const QString& tip) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(tip);
  return button;
}

}  // namespace

ComparisonModel::ComparisonModel() {
  std::vector<Column> columns{
      {tr("At"), {}, false, [](const report::ComparedLine& line) { return words(line.setting); }}};
  for (std::size_t at = 0; at < report::ComparedLine::texts_count; ++at) {
    const QString heading = words(report::comparison_headings()[at]);
    columns.push_back({heading.left(1).toUpper() + heading.mid(1), explained(heading),
                       columns.size() >= time_a,
                       [at](const report::ComparedLine& line) { return words(line.texts[at]); }});
  }
  set_table(std::move(columns), {});
}

void ComparisonModel::set_comparison(const ComparisonPointer& comparison) {
  comparison_ = comparison;
  set_rows(comparison ? report::comparison_lines(comparison->comparison)
                      : std::vector<report::ComparedLine>());
}

QVariant ComparisonModel::sort_key(int row, int column) const {
  const report::ComparedCell& cell = comparison_->comparison.cells[static_cast<std::size_t>(row)];
  switch (column) {
    case setting:
      return row;  // the runs' own order
    case time_a:
      return cell.a.cell.summary.median_ns / report::documents_of(cell.a);
    case time_b:
      return cell.b.cell.summary.median_ns / report::documents_of(cell.b);
    case ratio:
    case interval:
      return cell.ratio ? cell.ratio->ratio : 0;
    default:
      return data(index(row, column), Qt::DisplayRole);
  }
}

QVariant ComparisonModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const report::ComparedCell& cell =
      comparison_->comparison.cells[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::ToolTipRole:
      if (!cell.a.cell.cell.reason.empty()) return tr("A: %1").arg(words(cell.a.cell.cell.reason));
      if (!cell.b.cell.cell.reason.empty()) return tr("B: %1").arg(words(cell.b.cell.cell.reason));
      return {};
    case sort_role:
      return sort_key(index.row(), index.column());
    case verdict_role:
      return cell.ratio ? QVariant(static_cast<int>(cell.ratio->verdict)) : QVariant();
    default:
      return RowsModel::data(index, role);
  }
}

/// Leaves out, when asked, the cells without a difference.
class ComparisonView::Filter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void set_only_differences(bool only) {
    only_ = only;
    invalidateFilter();
  }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    if (!only_) return true;
    const QVariant verdict =
        sourceModel()->index(row, 0, parent).data(ComparisonModel::verdict_role);
    return !verdict.isValid() || static_cast<statistics::Verdict>(verdict.toInt()) !=
                                     statistics::Verdict::no_difference_shown;
  }

 private:
  bool only_ = false;
};

ComparisonView::ComparisonView(QWidget* parent)
    : QWidget(parent),
      filter_(new Filter(this)),
      back_(text_button(tr("Back to the run"), tr("Back to the run (Escape)"))),
      swap_(text_button(tr("Swap A and B"), tr("Divide the times of A by those of B"))),
      title_(new QLabel),
      notes_(new ReadingLabel(nullptr, "comparison_notes")),
      only_(new QCheckBox(tr("Only &differences"))),
      chart_(new charts::RunChart),
      table_(reading_table("comparison_cells", tr("Cells of both runs with verdicts"), filter_)) {
  back_->setObjectName(QStringLiteral("comparison_back"));
  back_->setShortcut(QKeySequence(Qt::Key_Escape));
  swap_->setObjectName(QStringLiteral("comparison_swap"));
  only_->setObjectName(QStringLiteral("comparison_only"));
  only_->setToolTip(tr("Leave out the cells in which no difference was shown"));
  notes_->setAccessibleName(tr("What the comparison rests on"));
  filter_->setSourceModel(&model_);
  filter_->setSortRole(ComparisonModel::sort_role);
  table_->setItemDelegateForColumn(ComparisonModel::ratio, new VerdictDelegate(table_));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSortingEnabled(true);
  table_->sortByColumn(ComparisonModel::setting, Qt::AscendingOrder);
  table_->horizontalHeader()->setStretchLastSection(true);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(build_top());
  layout->addWidget(notes_);
  chart_->setObjectName(QStringLiteral("comparison_chart"));
  chart_->set_title_shown(false);  // it stands above
  auto* halves = new QSplitter(Qt::Vertical);
  halves->setObjectName(QStringLiteral("comparison_split"));
  halves->addWidget(chart_);
  halves->addWidget(table_);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  halves->setChildrenCollapsible(false);
  halves->setHandleWidth(8);
  keep_sizes(*halves);
  layout->addWidget(halves, 1);

  connect(chart_, &charts::RunChart::export_wanted, this, &ComparisonView::export_figure);
  connect(back_, &QToolButton::clicked, this, &ComparisonView::closed);
  connect(swap_, &QToolButton::clicked, this, [this] {
    if (const ComparisonPointer& now = model_.comparison())
      Q_EMIT swap_asked(now->uuid_b, now->uuid_a);
  });
  connect(only_, &QCheckBox::toggled, filter_, &Filter::set_only_differences);
}

QLayout* ComparisonView::build_top() {
  set_text(title_, TextSize::title);
  title_->setObjectName(QStringLiteral("comparison_title"));
  title_->setTextFormat(Qt::PlainText);
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* row = new QHBoxLayout;
  row->addWidget(back_);
  row->addWidget(title_, 1);
  row->addWidget(only_);
  row->addWidget(swap_);
  return row;
}

void ComparisonView::show_comparison(const ComparisonPointer& comparison) {
  model_.set_comparison(comparison);
  title_->setText(
      tr("B: %1 against A: %2")
          .arg(run_words(comparison->comparison.run_b), run_words(comparison->comparison.run_a)));
  title_->setToolTip(title_->text());
  QStringList notes;
  if (comparison->problem.isEmpty()) {
    for (const std::string& note : report::comparison_notes(comparison->comparison))
      notes.append(words(note));
    if (comparison->comparison.cells.empty()) {
      notes.prepend(
          tr("The two runs share no cell: they were measured at other lengths, with other "
             "contenders or settings. Choose runs of the same sweep."));
    }
  } else {
    notes.append(comparison->problem);
  }
  notes_->setText(notes.join(QLatin1Char('\n')));
  const auto figure = report::comparison_figure(comparison->comparison);
  std::vector<std::string> ids;
  for (const report::ComparedCell& cell : comparison->comparison.cells) {
    std::string id = cell.b.cell.cell.contender.id();
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
  }
  chart_->set_contenders(ids);
  if (!figure) chart_->set_placeholder(words(figure.error().message));
  chart_->set_facets(figure ? charts::facets_of(*figure) : report::Facets{});
  chart_->setVisible(!comparison->comparison.cells.empty());
  table_->resizeColumnsToContents();
}

bool ComparisonView::has_figure() const {
  return !chart_->page().empty();
}

void ComparisonView::export_figure() {
  const report::Comparison& shown = model_.comparison()->comparison;
  export_chart(*chart_,
               file_stem(shown.run_b, QStringLiteral("against-%1").arg(shown.run_a.number)),
               [this](const QString& said) { Q_EMIT succeeded(said); });
}

void ComparisonView::copy_table(report::TableFormat format) {
  const ComparisonPointer& now = model_.comparison();
  if (!now) return;
  QApplication::clipboard()->setText(words(report::write_comparison(now->comparison, format)));
  Q_EMIT succeeded(tr("Copied the comparison of %1.")
                       .arg(counted(static_cast<qint64>(now->comparison.cells.size()), tr("cell"),
                                    tr("cells"))));
}

}  // namespace attnscope::gui
