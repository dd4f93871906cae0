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
#include <cmath>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/gui/session/text.h"
#include "app/gui/views/cell_panel.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"
#include "engine/heat/cell.h"
#include "engine/report/pivot.h"
#include "engine/report/slice.h"
#include "engine/statistics/summary.h"
#include "views/ui_table_choices.h"

namespace attnscope::gui {
namespace {

constexpr int left_aligned = static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter);
constexpr int right_aligned = static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);

bool has_same_shape(const std::vector<report::PivotHead>& a,
                    const std::vector<report::PivotHead>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.value == y.value; });
}

/// Whether both have the same cells in the same places.
bool has_same_shape(const report::Pivot& a, const report::Pivot& b) {
  return a.choice == b.choice && has_same_shape(a.rows, b.rows) &&
         has_same_shape(a.columns, b.columns) &&
         std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const report::PivotBlock& x, const report::PivotBlock& y) {
                      return x.words == y.words && x.lines.size() == y.lines.size();
                    });
}

/// The explanation of a contender's id or a window; otherwise the value in filter syntax.
QString tip_of(const report::PivotHead& head) {
  if (head.words.starts_with("w = ")) return explained("w");
  return head.contender.empty() ? qstring(head.value) : explained(qstring(head.value));
}

}  // namespace

void PivotTableModel::set_run(const RunPointer& run) {
  // While a run is measured, its cells are filled in without changing the shape, so selection and
  // scroll position are kept.
  const bool same_shape = run_ && run && has_same_shape(run_->pivot, run->pivot) &&
                          run_->request.uuid == run->request.uuid && !lines_.empty();
  if (same_shape) {
    run_ = run;
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
    return;
  }
  beginResetModel();
  run_ = run;
  lines_.clear();
  if (run_) lay_out();
  endResetModel();
}

void PivotTableModel::lay_out() {
  const auto& blocks = pivot().blocks;
  const bool headed = blocks.size() > 1 || (!blocks.empty() && !blocks.front().words.empty());
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto& lines = blocks[block].lines;
    if (headed) lines_.push_back({.block = block, .line = std::nullopt});
    for (std::size_t line = 0; line < lines.size(); ++line) {
      lines_.push_back({.block = block,
                        .line = line,
                        .repeats_head = line > 0 && lines[line - 1].head == lines[line].head});
    }
  }
}

bool PivotTableModel::is_heading(int row) const {
  return !lines_.at(static_cast<std::size_t>(row)).line;
}

QModelIndex PivotTableModel::index_of(std::size_t table_row) const {
  for (int row = 0; row < rowCount(); ++row) {
    if (is_heading(row)) continue;
    const std::vector<report::PivotCell>& cells = line_at(row).cells;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (cells[column].row == table_row)
        return index(row, label_columns() + static_cast<int>(column));
    }
  }
  return {};
}

int PivotTableModel::label_columns() const {
  return run_ && pivot().choice.cells.size() > 1 ? 2 : 1;
}

int PivotTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int PivotTableModel::columnCount(const QModelIndex& parent) const {
  if (parent.isValid() || !run_ || lines_.empty()) return 0;
  return label_columns() + static_cast<int>(pivot().columns.size());
}

const report::PivotLine& PivotTableModel::line_at(int row) const {
  const Line& line = lines_[static_cast<std::size_t>(row)];
  return pivot().blocks[line.block].lines[*line.line];
}

QVariant PivotTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (is_heading(index.row())) return heading_data(index.row(), index.column(), role);
  if (index.column() < label_columns()) return label_data(index.row(), index.column(), role);
  return cell_data(index.row(), index.column() - label_columns(), role);
}

QVariant PivotTableModel::heading_data(int row, int column, int role) const {
  if (role == heading_role) return true;
  if (role == Qt::DisplayRole && column == 0)
    return qstring(pivot().blocks[lines_[static_cast<std::size_t>(row)].block].words);
  if (role == Qt::TextAlignmentRole) return left_aligned;
  return {};
}

QVariant PivotTableModel::label_data(int row, int column, int role) const {
  const report::PivotLine& line = line_at(row);
  const report::PivotHead& head = pivot().rows[line.head];
  if (role == Qt::TextAlignmentRole) return left_aligned;
  if (column == 1)
    return role == Qt::DisplayRole ? qstring(report::short_name(line.quantity)) : QVariant();
  switch (role) {
    case Qt::DisplayRole:
      if (lines_[static_cast<std::size_t>(row)].repeats_head) return {};
      return qstring(report::head_words(head));
    case Qt::AccessibleTextRole:
      return qstring(report::head_words(head));
    case Qt::ToolTipRole:
      return tip_of(head);
    case baseline_role:
      return head.is_baseline;
    case style_key_role:
      // A row for all windows of a contender has no line in the charts.
      if (head.contender.empty() || !run_->contenders.contains(qstring(head.value))) return {};
      if (lines_[static_cast<std::size_t>(row)].repeats_head) return {};
      return qstring(head.value);
    default:
      return {};
  }
}

/// Compares the value with the smallest one of all contenders at the same setting, which are in the
/// same row if columns are contenders, otherwise in the same column.
QVariant PivotTableModel::shade_of(int row, std::size_t column) const {
  constexpr double many_times = 16;
  const report::PivotLine& own = line_at(row);
  const std::optional<double>& value = own.cells[column].value;
  const bool is_cost =
      own.quantity == report::Quantity::time || own.quantity == report::Quantity::memory;
  if (!is_cost || !value || !(*value > 0)) return {};
  double least = *value;
  const auto consider = [&least](const report::PivotCell& cell) {
    if (cell.value && *cell.value > 0) least = std::min(least, *cell.value);
  };
  if (pivot().choice.columns == "contender") {
    std::ranges::for_each(own.cells, consider);
  } else {
    for (const report::PivotLine& line :
         pivot().blocks[lines_[static_cast<std::size_t>(row)].block].lines) {
      if (line.quantity == own.quantity) consider(line.cells[column]);
    }
  }
  return std::min(1.0, std::log(*value / least) / std::log(many_times));
}

QVariant PivotTableModel::cell_data(int row_number, int column, int role) const {
  const report::PivotLine& line = line_at(row_number);
  const report::PivotCell& cell = line.cells[static_cast<std::size_t>(column)];
  if (role == Qt::TextAlignmentRole) return right_aligned;
  if (!cell.row) return {};
  const report::Row& row = run_->table.rows[*cell.row];
  switch (role) {
    case Qt::DisplayRole:
      return charts::with_minus(qstring(cell.text));
    case Qt::ToolTipRole:
      return cell_tip(row, line.quantity);
    case cell_status_role:
      return static_cast<int>(row.cell.damaged ? CellStatus::wrong : row.cell.cell.status);
    case verdict_role:
      return cell.ratio ? QVariant(static_cast<int>(cell.ratio->verdict)) : QVariant();
    case baseline_role:
      return cell.is_baseline;
    case table_row_role:
      return static_cast<qulonglong>(*cell.row);
    case shade_role:
      return shade_of(row_number, static_cast<std::size_t>(column));
    default:
      return {};
  }
}

QVariant PivotTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || !run_ || section < 0 || section >= columnCount())
    return QAbstractTableModel::headerData(section, orientation, role);
  const bool is_label = section < label_columns();
  if (role == Qt::TextAlignmentRole) return is_label ? left_aligned : right_aligned;
  if (is_label) {
    if (section > 0) return role == Qt::DisplayRole ? tr("Cells") : QVariant();
    if (role == Qt::ToolTipRole || role == Qt::WhatsThisRole)
      return explained(pivot().choice.rows == "window" ? "w" : pivot().choice.rows.c_str());
    return role == Qt::DisplayRole ? qstring(report::axis_name(pivot().choice.rows)) : QVariant();
  }
  const report::PivotHead& head =
      pivot().columns[static_cast<std::size_t>(section - label_columns())];
  if (role == Qt::DisplayRole) return qstring(report::head_words(head));
  if (role == Qt::ToolTipRole) return tip_of(head);
  return {};
}

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

/// Background of values above the best comparable one, faint enough for every text colour to be
/// readable.
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
  for (const std::string& key : keys) wanted.append(qstring(key));
  if (values != wanted) {
    box->clear();
    for (const std::string& key : keys) box->addItem(qstring(report::axis_name(key)), qstring(key));
  }
  box->setCurrentIndex(box->findData(qstring(current)));
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
    formats->addAction(tr("As %1…").arg(qstring(entry.title)), this,
                       [this, format = entry.format] { Q_EMIT save_requested(format); });
  }
  save_->setObjectName(QStringLiteral("save_table"));
  save_->setMenu(formats);
  save_->setToolTip(tr("Write the displayed table into a file"));
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
  view_->clearSpans();
  const int columns = model_.columnCount();
  for (int row = 0; row < model_.rowCount(); ++row) {
    if (model_.is_heading(row) && columns > 1) view_->setSpan(row, 0, 1, columns);
  }
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
  choices_->set_summary(tr("%1 by %2: %3")
                            .arg(rows_->currentText(), columns_->currentText().toLower(),
                                 cells_->currentText().toLower()));
  save_->setEnabled(!run.table.rows.empty());
  problem_->setText(run.pivot_problem);
  problem_->setVisible(!run.pivot_problem.isEmpty());
}

/// Fits the columns to their contents. A table of the same shape keeps wider columns.
void RunTable::fit_columns(bool keeps_widths) {
  for (int column = 0; column < model_.columnCount(); ++column) {
    const int least = keeps_widths ? view_->columnWidth(column) : 0;
    view_->resizeColumnToContents(column);
    if (view_->columnWidth(column) < least) view_->setColumnWidth(column, least);
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
