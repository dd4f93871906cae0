// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_table.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/popup_button.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/theme.h"
#include "engine/heat/cell.h"
#include "engine/statistics/summary.h"
#include "views/ui_table_choices.h"

namespace attnscope::gui {
namespace {

using report::Quantity;

constexpr int cell_padding = 6;

QColor color_of(statistics::Verdict verdict, const QPalette& palette) {
  if (verdict == statistics::Verdict::faster) return good_text(palette);
  if (verdict == statistics::Verdict::slower) return error_text(palette);
  return faint_text(palette);
}

/// The text has the same information: nothing is shown by colour alone.
QColor text_color(const QModelIndex& index, const QPalette& palette) {
  const QVariant verdict = index.data(verdict_role);
  if (verdict.isValid())
    return color_of(static_cast<statistics::Verdict>(verdict.toInt()), palette);
  const QVariant status = index.data(cell_status_role);
  if (!status.isValid()) return palette.color(QPalette::Text);
  switch (static_cast<CellStatus>(status.toInt())) {
    case CellStatus::ok:
      return palette.color(QPalette::Text);
    case CellStatus::wrong:
    case CellStatus::crashed:
    case CellStatus::timeout:
      return error_text(palette);
    default:
      return faint_text(palette);
  }
}

/// Background of costs above the best comparable one: so faint that every text colour is readable.
QColor shade(double strength, const QPalette& palette) {
  constexpr double most = 0.13;
  QColor color = is_dark(palette) ? QColor(0xff, 0xc0, 0x60) : QColor(0xc0, 0x70, 0x00);
  color.setAlphaF(static_cast<float>(most * strength));
  return color;
}

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
          {RunTable::tr("Executed work"), {Quantity::executed}},
          {RunTable::tr("Documents per ms"), {Quantity::per_ms}}};
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

/// Draws each contender with its line and marker; failures and verdicts are coloured and also
/// stated in words.
class RunTable::Delegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void set_contenders(const std::vector<std::string>& ids) {
    styles_ = charts::ContenderStyles(ids);
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const QString text = std::exchange(item.text, {});
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, option.widget);
    if (const double strength = index.data(shade_role).toDouble(); strength > 0)
      painter->fillRect(option.rect, shade(strength, option.palette));
    QRect inner = option.rect.adjusted(cell_padding, 0, -cell_padding, 0);
    if (const int room = room_for_sample(option, index); room > 0) {
      painter->save();
      painter->setRenderHint(QPainter::Antialiasing);
      charts::draw_sample(
          *painter, styles_.style(index.data(style_key_role).toString().toStdString()),
          charts::theme_of(option.palette), QPointF(inner.left(), inner.center().y() + 0.5),
          charts::em_of(option.font), option.palette.color(QPalette::Base));
      painter->restore();
      inner.setLeft(inner.left() + room);
    }
    const bool selected = item.state.testFlag(QStyle::State_Selected);
    painter->setPen(item.palette.color(selected ? QPalette::HighlightedText : QPalette::Text));
    painter->setFont(item.font);
    painter->drawText(inner, static_cast<int>(item.displayAlignment),
                      QFontMetrics(item.font).elidedText(text, Qt::ElideRight, inner.width()));
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    size.rwidth() += 2 * cell_padding + room_for_sample(option, index);
    return size;
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->palette.setColor(QPalette::Text, text_color(index, option->palette));
    if (index.data(baseline_role).toBool() || index.data(heading_role).toBool())
      option->font.setBold(true);
  }

 private:
  static int room_for_sample(const QStyleOptionViewItem& option, const QModelIndex& index) {
    const bool has_sample = index.column() == 0 && index.data(style_key_role).isValid();
    return has_sample ? static_cast<int>((charts::sample_width + 0.5) * charts::em_of(option.font))
                      : 0;
  }

  mutable charts::ContenderStyles styles_;
};

RunTable::RunTable(QWidget* parent)
    : QWidget(parent),
      save_(new QPushButton(tr("Save table"))),
      problem_(new QLabel),
      view_(new ReadingTable),
      marks_(new LineLabel),
      delegate_(new Delegate(this)) {
  choice_.columns.clear();  // along x, until the user selects a key
  view_->setObjectName(QStringLiteral("pivot"));
  view_->setAccessibleName(tr("Cells of the run along two keys"));
  view_->setModel(&model_);
  view_->setItemDelegate(delegate_);
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->hide();
  marks_->setObjectName(QStringLiteral("table_marks"));
  marks_->setForegroundRole(QPalette::PlaceholderText);
  set_text(marks_, TextSize::small);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(build_head());
  layout->addWidget(problem_);
  layout->addWidget(view_, 1);
  layout->addWidget(marks_);
  wire();
}

QLayout* RunTable::build_head() {
  auto* fields = new QWidget;
  Ui::TableChoices form;
  form.setupUi(fields);
  rows_ = form.pivot_rows;
  columns_ = form.pivot_columns;
  cells_ = form.pivot_cells;
  for (const Cells& cells : offered_cells()) cells_->addItem(cells.name);
  auto* formats = new QMenu(save_);
  for (const report::TableFormatName& entry : report::table_formats()) {
    formats->addAction(tr("As %1…").arg(words(entry.title)), this,
                       [this, format = entry.format] { Q_EMIT save_requested(format); });
  }
  save_->setObjectName(QStringLiteral("save_table"));
  save_->setMenu(formats);
  save_->setToolTip(tr("Write the table that is shown into a file"));
  choices_ = new PopupButton(this, fields);
  choices_->setObjectName(QStringLiteral("table_choices"));
  choices_->setAccessibleName(tr("What the table shows"));
  auto* head = new QHBoxLayout;
  head->addWidget(choices_);
  head->addStretch();
  head->addWidget(save_);
  return head;
}

void RunTable::wire() {
  connect(rows_, &QComboBox::activated, this, [this] { choose_keys(true); });
  connect(columns_, &QComboBox::activated, this, [this] { choose_keys(false); });
  connect(cells_, &QComboBox::activated, this, [this](int index) {
    choice_.cells = offered_cells()[static_cast<std::size_t>(index)].quantities;
    Q_EMIT choice_changed();
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& current) {
            const QVariant row = current.data(table_row_role);
            if (!choosing_ && row.isValid()) Q_EMIT row_chosen(row.toULongLong());
          });
  connect(view_, &QTableView::activated, this, [this](const QModelIndex& index) {
    if (index.data(table_row_role).isValid()) Q_EMIT row_opened();
  });
}

/// If the other selector had this key, the two are exchanged.
void RunTable::choose_keys(bool rows_changed) {
  const RunPointer& shown = model_.run();
  const report::PivotChoice before = shown ? shown->request.pivot : choice_;
  choice_.rows = rows_->currentData().toString().toStdString();
  choice_.columns = columns_->currentData().toString().toStdString();
  if (choice_.rows == choice_.columns) {
    (rows_changed ? choice_.columns : choice_.rows) = rows_changed ? before.rows : before.columns;
  }
  Q_EMIT choice_changed();
}

void RunTable::show_run(const RunPointer& run) {
  const RunPointer& before = model_.run();
  const bool same_run = before && before->request.uuid == run->request.uuid;
  const bool same_shape = same_run && before->request.pivot == run->request.pivot;
  delegate_->set_contenders(run->table.contenders);
  model_.set_run(run);
  span_headings();
  fit_columns(same_shape);
  if (!same_run) view_->scrollToTop();
  view_->setMinimumHeight(height_of_rows(*view_, 5));
  show_selectors(*run);
  show_marks(run->pivot);
}

/// Explains the marks that the table currently shows.
void RunTable::show_marks(const report::Pivot& pivot) {
  std::string found;
  for (const report::PivotBlock& block : pivot.blocks) {
    for (const report::PivotLine& line : block.lines) {
      for (const report::PivotCell& cell : line.cells) found += cell.marks;
    }
  }
  QStringList lines;
  for (const char* mark : {"~", "!"}) {
    if (found.find(mark) != std::string::npos)
      lines.append(QStringLiteral("%1 %2").arg(QLatin1String(mark), explained(mark)));
  }
  marks_->setText(lines.join(QStringLiteral("  ")));
  marks_->setToolTip(lines.join(QLatin1Char('\n')));
  marks_->setVisible(!lines.isEmpty());
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

/// As wide as the contents; with the same shape, never narrower than before.
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
  const RunPointer& run = model_.run();
  return run ? report::write_pivot(run->table, run->pivot, format) : std::string();
}

}  // namespace attnscope::gui
