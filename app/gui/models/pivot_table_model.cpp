// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pivot_table_model.h"

#include <algorithm>
#include <cmath>

#include "app/drawing/chart_style.h"
#include "app/gui/models/cell_facts.h"
#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "engine/report/pivot.h"
#include "engine/report/slice.h"

namespace attnscope::gui {
namespace {

constexpr int left_aligned = static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter);
constexpr int right = static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);

bool is_alike(const std::vector<report::PivotHead>& a, const std::vector<report::PivotHead>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return one.value == other.value; });
}

/// Whether both have the same cells in the same places.
bool is_alike(const report::Pivot& a, const report::Pivot& b) {
  return a.choice == b.choice && is_alike(a.rows, b.rows) && is_alike(a.columns, b.columns) &&
         std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const report::PivotBlock& one, const report::PivotBlock& other) {
                      return one.words == other.words && one.lines.size() == other.lines.size();
                    });
}

/// The explanation of a contender's id or a window; otherwise the value in filter syntax.
QString tip_of(const report::PivotHead& head) {
  if (head.words.starts_with("w = ")) return explained("w");
  return head.contender.empty() ? words(head.value) : explained(words(head.value));
}

}  // namespace

void PivotTableModel::set_run(const RunPointer& run) {
  // While a run is measured, its cells are filled in without changing the shape, so selection and
  // scroll position are kept.
  const bool same_shape = run_ && run && is_alike(run_->pivot, run->pivot) &&
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
    return words(pivot().blocks[lines_[static_cast<std::size_t>(row)].block].words);
  if (role == Qt::TextAlignmentRole) return left_aligned;
  return {};
}

QVariant PivotTableModel::label_data(int row, int column, int role) const {
  const report::PivotLine& line = line_at(row);
  const report::PivotHead& head = pivot().rows[line.head];
  if (role == Qt::TextAlignmentRole) return left_aligned;
  if (column == 1)
    return role == Qt::DisplayRole ? words(report::short_name(line.quantity)) : QVariant();
  switch (role) {
    case Qt::DisplayRole:
      if (lines_[static_cast<std::size_t>(row)].repeats_head) return {};
      return words(report::head_words(head));
    case Qt::AccessibleTextRole:
      return words(report::head_words(head));
    case Qt::ToolTipRole:
      return tip_of(head);
    case baseline_role:
      return head.is_baseline;
    case style_key_role:
      // All windows of a contender together have no line in the charts.
      if (head.contender.empty() || !run_->contenders.contains(words(head.value))) return {};
      if (lines_[static_cast<std::size_t>(row)].repeats_head) return {};
      return words(head.value);
    default:
      return {};
  }
}

/// Compares with the least of the contenders at the same setting: in the row if columns are
/// contenders, otherwise in the column.
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
  if (role == Qt::TextAlignmentRole) return right;
  if (!cell.row) return {};
  const report::Row& row = run_->table.rows[*cell.row];
  switch (role) {
    case Qt::DisplayRole:
      return charts::with_minus(words(cell.text));
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
  if (role == Qt::TextAlignmentRole) return is_label ? left_aligned : right;
  if (is_label) {
    if (section > 0) return role == Qt::DisplayRole ? tr("Cells") : QVariant();
    if (role == Qt::ToolTipRole || role == Qt::WhatsThisRole)
      return explained(pivot().choice.rows == "window" ? "w" : pivot().choice.rows.c_str());
    return role == Qt::DisplayRole ? words(report::axis_name(pivot().choice.rows)) : QVariant();
  }
  const report::PivotHead& head =
      pivot().columns[static_cast<std::size_t>(section - label_columns())];
  if (role == Qt::DisplayRole) return words(report::head_words(head));
  if (role == Qt::ToolTipRole) return tip_of(head);
  return {};
}

}  // namespace attnscope::gui
