// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/comparison_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/kept.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int compared_rows_measured = 60;

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
      notes_(new QLabel),
      only_(new QCheckBox(tr("Only &differences"))),
      chart_(new charts::RunChart),
      table_(new QTableView) {
  back_->setObjectName(QStringLiteral("comparison_back"));
  back_->setShortcut(QKeySequence(Qt::Key_Escape));
  swap_->setObjectName(QStringLiteral("comparison_swap"));
  only_->setObjectName(QStringLiteral("comparison_only"));
  only_->setToolTip(tr("Leave out the cells in which no difference was shown"));
  notes_->setObjectName(QStringLiteral("comparison_notes"));
  notes_->setTextFormat(Qt::PlainText);
  notes_->setWordWrap(true);
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  notes_->setAccessibleName(tr("What the comparison rests on"));
  build_table();
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(build_top());
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

QWidget* ComparisonView::build_top() {
  set_text(title_, TextSize::title);
  title_->setTextFormat(Qt::PlainText);
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* top = new QWidget;
  auto* row = new QHBoxLayout(top);
  row->addWidget(back_);
  row->addWidget(title_, 1);
  row->addWidget(only_);
  row->addWidget(swap_);
  return top;
}

void ComparisonView::build_table() {
  filter_->setSourceModel(&model_);
  filter_->setSortRole(ComparisonModel::sort_role);
  table_->setModel(filter_);
  table_->setItemDelegateForColumn(ComparisonModel::ratio, new VerdictDelegate(table_));
  table_->setObjectName(QStringLiteral("comparison_cells"));
  table_->setAccessibleName(tr("Cells of both runs with verdicts"));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSortingEnabled(true);
  table_->sortByColumn(ComparisonModel::setting, Qt::AscendingOrder);
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setResizeContentsPrecision(compared_rows_measured);
  table_->horizontalHeader()->setStretchLastSection(true);
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
  if (!has_figure()) return;
  auto* dialog = new FigureDialog(charts::printable(chart_->shown_facets()),
                                  chart_->shown_options(), QStringLiteral("comparison"), this);
  connect(dialog, &FigureDialog::written, this, &ComparisonView::succeeded);
  dialog->open();
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
