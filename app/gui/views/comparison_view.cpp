// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/comparison_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/theme.h"
#include "views/ui_comparison_view.h"
#include "views/ui_published_view.h"
#include "views/ui_side_by_side_view.h"

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

QString run_text(const RunInfo& run) {
  return QStringLiteral("%1 %2").arg(run.number).arg(qstring(title_of(run)));
}

}  // namespace

ComparisonModel::ComparisonModel() {
  std::vector<Column> columns{{tr("At"), {}, false, [](const report::ComparedLine& line) {
                                 return qstring(line.setting);
                               }}};
  for (std::size_t at = 0; at < report::ComparedLine::texts_count; ++at) {
    const QString heading = qstring(report::comparison_headings()[at]);
    columns.push_back({heading.left(1).toUpper() + heading.mid(1), explained(heading),
                       columns.size() >= time_a,
                       [at](const report::ComparedLine& line) { return qstring(line.texts[at]); }});
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
      if (!cell.a.cell.cell.reason.empty())
        return tr("A: %1").arg(qstring(cell.a.cell.cell.reason));
      if (!cell.b.cell.cell.reason.empty())
        return tr("B: %1").arg(qstring(cell.b.cell.cell.reason));
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
          .arg(run_text(comparison->comparison.run_b), run_text(comparison->comparison.run_a)));
  ui_->comparison_title->setToolTip(ui_->comparison_title->text());
  QStringList notes;
  if (comparison->problem.isEmpty()) {
    for (const std::string& note :
         report::comparison_notes(comparison->comparison, report::Remedy::menu))
      notes.append(qstring(note));
    if (comparison->comparison.cells.empty()) {
      notes.prepend(
          tr("The two runs share no cell: they differ in lengths, contenders or settings. Choose "
             "runs of the same sweep."));
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
  if (!figure) chart()->set_placeholder(qstring(figure.error().message));
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
               [this](const QString& sentence) { Q_EMIT succeeded(sentence); });
}

void ComparisonView::copy_table(report::TableFormat format) {
  const ComparisonPointer& now = model_.comparison();
  if (!now) return;
  QApplication::clipboard()->setText(qstring(report::write_comparison(now->comparison, format)));
  Q_EMIT succeeded(tr("Copied the comparison of %1.")
                       .arg(counted(static_cast<qint64>(now->comparison.cells.size()), tr("cell"),
                                    tr("cells"))));
}

namespace {

using Pair = report::PublishedComparison;

// Whole cross-encoders on a GPU are shown next to ours, without a ratio.
std::vector<RowsModel<Pair>::Column> alongside_columns() {
  const QString published =
      SideBySideView::tr("ECIR 2024, Table 3: one NVIDIA A100 40 GB; published, not measured here");
  return {
      {SideBySideView::tr("Contender"), explained("contender"), false,
       [](const Pair& pair) { return qstring(pair.row->cell.cell.contender.id()); }},
      {SideBySideView::tr("Measured"),
       SideBySideView::tr(
           "The operation measured here; the paper measured a whole cross-encoder of six layers"),
       false, [](const Pair& pair) { return qstring(name_of(pair.row->cell.point.operation)); }},
      {SideBySideView::tr("Tokens"),
       SideBySideView::tr("[CLS], query and document with their [SEP]"), true,
       [](const Pair& pair) { return QString::number(pair.row->cell.point.sequence_tokens); }},
      {SideBySideView::tr("Time per\ndocument, here"),
       SideBySideView::tr("Median over the documents of the batch"), true,
       [](const Pair& pair) {
         return qstring(report::format_time(pair.row->cell.summary.median_ns /
                                            report::documents_of(*pair.row)));
       }},
      {SideBySideView::tr("Published"), published, true,
       [](const Pair& pair) {
         return qstring(report::format_time(pair.cost.time_us_per_document * 1e3));
       }},
      {SideBySideView::tr("Memory per\ndocument, here"),
       SideBySideView::tr("Peak bytes during the call over the documents of the batch"), true,
       [](const Pair& pair) {
         const auto bytes = static_cast<double>(pair.row->cell.cell.memory.requested_bytes);
         return qstring(report::format_bytes(bytes / report::documents_of(*pair.row)));
       }},
      {SideBySideView::tr("Published"), published, true,
       [](const Pair& pair) {
         return qstring(report::format_bytes(pair.cost.memory_mb_per_document * 1e6));
       }},
      {SideBySideView::tr("Model in the paper"),
       SideBySideView::tr("The cross-encoder that was measured there"), false,
       [](const Pair& pair) { return qstring(pair.cost.model); }}};
}

}  // namespace

PublishedView::PublishedView(QWidget* parent)
    : QWidget(parent), ui_(std::make_unique<Ui::PublishedView>()) {
  ui_->setupUi(this);
  set_text(ui_->published_title, TextSize::title);
  ui_->published_label->setText(qstring(report::published_label));
  ui_->published_label->setMargin(space::gap / 2);
  paint_label();
  ui_->published_source->setForegroundRole(QPalette::PlaceholderText);
  ui_->published_table->setModel(&model_);
  new FlowLayout(ui_->head);
  // Not a fixed policy: that would limit it to the height of one line.
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  ui_->head->setSizePolicy(policy);
}

PublishedView::~PublishedView() = default;

void PublishedView::show_table(const report::PublishedTable& table) {
  shown_ = table;
  std::vector<RowsModel<std::vector<std::string>>::Column> columns;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    const QString tip = qstring(table.columns[at].title);
    // Wrapped: fifteen columns with long titles would not fit side by side.
    QString title = tip;
    for (const QString& word : {QStringLiteral("w ="), QStringLiteral("("), QStringLiteral("per "),
                                QStringLiteral("vs. ")})
      title.replace(QLatin1Char(' ') + word, QLatin1Char('\n') + word);
    columns.push_back({title, tip, table.columns[at].is_number,
                       [at](const std::vector<std::string>& row) { return qstring(row[at]); }});
  }
  model_.set_table(std::move(columns), table.rows);
  ui_->published_title->setText(qstring(table.title));
  ui_->published_subject->setText(qstring(table.subject));
  ui_->published_source->setText(
      tr("%1.\nMachine: %2.\n%3")
          .arg(qstring(table.citation), qstring(table.machine), qstring(table.note)));
  ui_->published_table->resizeColumnsToContents();
}

void PublishedView::paint_label() {
  QPalette ground;
  ground.setColor(QPalette::Window, info_ground(palette()));
  ui_->published_label->setPalette(ground);
}

void PublishedView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paint_label();
}

void PublishedView::copy_table(report::TableFormat format) const {
  QApplication::clipboard()->setText(qstring(report::write_published(shown_, format)));
}

SideBySideView::SideBySideView(QWidget* parent)
    : QWidget(parent), model_(alongside_columns()), ui_(std::make_unique<Ui::SideBySideView>()) {
  ui_->setupUi(this);
  ui_->side_by_side_table->setModel(&model_);
}

SideBySideView::~SideBySideView() = default;

void SideBySideView::show_run(const RunPointer& run) {
  model_.set_rows(run ? report::published_comparison(run->table) : std::vector<Pair>());
  run_ = run;
  const int rows = model_.rowCount();
  QTableView* table = ui_->side_by_side_table;
  ui_->side_by_side_note->setText(
      rows > 0 ? tr("Compared with ECIR 2024, Table 3 (published, not measured here): whole "
                    "cross-encoders of six layers on one NVIDIA A100 40 GB. The column "
                    "\"Measured\" names the operation measured here.")
               : tr("No cell of this run has a counterpart in ECIR 2024, Table 3, which has 174 "
                    "and 4096 tokens, full attention, sparse with w = 4 or 64, longformer and qds "
                    "with w = 64. Measure these to compare them."));
  table->setVisible(rows > 0);
  table->setMinimumHeight(height_of_rows(*table, 4));
  table->resizeColumnsToContents();
}

}  // namespace attnscope::gui
