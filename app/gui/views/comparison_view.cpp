// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/comparison_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/theme.h"
#include "views/ui_comparison_view.h"

namespace attnscope::gui {
namespace {

/// A difference in the colour of its verdict; its sign gives the same information.
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
      return row;  // in the order of the runs
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

/// Optionally hides the cells without a difference.
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
    : QWidget(parent), ui_(std::make_unique<Ui::ComparisonView>()) {
  ui_->setupUi(this);
  set_text(ui_->comparison_title, TextSize::title);
  auto* filter = new Filter(this);
  filter->setSourceModel(&model_);
  filter->setSortRole(ComparisonModel::sort_role);
  QTableView* table = ui_->comparison_cells;
  table->setModel(filter);
  table->setItemDelegateForColumn(ComparisonModel::ratio, new VerdictDelegate(table));
  table->sortByColumn(ComparisonModel::setting, Qt::AscendingOrder);
  chart()->set_title_shown(false);  // shown above the chart
  ui_->comparison_split->setStretchFactor(0, 3);
  ui_->comparison_split->setStretchFactor(1, 2);
  keep_sizes(*ui_->comparison_split);

  connect(chart(), &charts::RunChart::export_wanted, this, &ComparisonView::export_figure);
  connect(ui_->comparison_back, &QToolButton::clicked, this, &ComparisonView::closed);
  connect(ui_->comparison_swap, &QToolButton::clicked, this, [this] {
    if (const ComparisonPointer& now = model_.comparison())
      Q_EMIT swap_requested(now->uuid_b, now->uuid_a);
  });
  connect(ui_->comparison_only, &QCheckBox::toggled, filter, &Filter::set_only_differences);
}

ComparisonView::~ComparisonView() = default;

charts::RunChart* ComparisonView::chart() const {
  return ui_->comparison_chart;
}

void ComparisonView::show_comparison(const ComparisonPointer& comparison) {
  model_.set_comparison(comparison);
  ui_->comparison_title->setText(
      tr("B: %1 against A: %2")
          .arg(run_words(comparison->comparison.run_b), run_words(comparison->comparison.run_a)));
  ui_->comparison_title->setToolTip(ui_->comparison_title->text());
  QStringList notes;
  if (comparison->problem.isEmpty()) {
    for (const std::string& note :
         report::comparison_notes(comparison->comparison, report::Remedy::menu))
      notes.append(words(note));
    if (comparison->comparison.cells.empty()) {
      notes.prepend(
          tr("The two runs share no cell: they were measured at other lengths, with other "
             "contenders or settings. Choose runs of the same sweep."));
    }
  } else {
    notes.append(comparison->problem);
  }
  ui_->comparison_notes->setText(notes.join(QLatin1Char('\n')));
  const auto figure = report::comparison_figure(comparison->comparison);
  std::vector<std::string> ids;
  for (const report::ComparedCell& cell : comparison->comparison.cells) {
    std::string id = cell.b.cell.cell.contender.id();
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
  }
  chart()->set_contenders(ids);
  if (!figure) chart()->set_placeholder(words(figure.error().message));
  chart()->set_facets(figure ? charts::facets_of(*figure) : report::Facets{});
  chart()->setVisible(!comparison->comparison.cells.empty());
  ui_->comparison_cells->resizeColumnsToContents();
}

bool ComparisonView::has_figure() const {
  return !chart()->page().empty();
}

void ComparisonView::export_figure() {
  const report::Comparison& shown = model_.comparison()->comparison;
  export_chart(*chart(),
               file_stem(shown.run_b, QStringLiteral("against-%1").arg(shown.run_a.number)),
               [this](const QString& stated) { Q_EMIT succeeded(stated); });
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
