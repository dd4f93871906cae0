// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/cell_table_model.h"

#include <algorithm>

#include "app/gui/models/cell_text.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

constexpr ColumnTitle headers[CellTableModel::column_count] = {
    {"Contender", "Pattern and implementation, in the colour of its line"},
    {"w", "One-sided window: a token sees w neighbours on either side"},
    {"Tokens", "[CLS], query and document with their [SEP]"},
    {"Median", "Median time of one call, with half of its 95 % interval"},
    {"Memory", "Peak bytes during the call above what was live before"},
    {"vs. baseline",
     "Time per document against the chosen baseline: a difference is one only when the "
     "interval of the ratio excludes 1"},
    {"Of limit", "Share of what the machine's ceilings allow"},
    {"Executed", "Executed over useful products: what padding, overlap and masking cost"},
    {"Per document", "Median time over the documents of the batch"},
    {"Batch", "Items measured together: a query with its documents each"},
    {"Error", "Against a float64 reference, relative to max|V|"},
    {"Status", "Why a cell has no time"},
};

std::size_t rows_of(const RunPointer& run) {
  return run ? run->table.rows.size() : 0;
}

bool only_grew(const RunPointer& before, const RunPointer& now) {
  if (!before || !now || before->request.uuid != now->request.uuid) return false;
  const auto& old_rows = before->table.rows;
  const auto& new_rows = now->table.rows;
  return old_rows.size() <= new_rows.size() &&
         std::equal(old_rows.begin(), old_rows.end(), new_rows.begin(),
                    [](const report::Row& a, const report::Row& b) {
                      return a.cell.cell_number == b.cell.cell_number;
                    });
}

int alignment_of(int column) {
  const bool is_text = column == CellTableModel::contender || column == CellTableModel::status;
  return static_cast<int>((is_text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
}

}  // namespace

void CellTableModel::set_run(const RunPointer& run) {
  if (!only_grew(run_, run)) {
    beginResetModel();
    run_ = run;
    endResetModel();
    return;
  }
  const auto before = static_cast<int>(rows_of(run_));
  const auto now = static_cast<int>(rows_of(run));
  if (now > before) {
    beginInsertRows({}, before, now - 1);
    run_ = run;
    endInsertRows();
  } else {
    run_ = run;
  }
  if (before > 0) Q_EMIT dataChanged(index(0, 0), index(before - 1, column_count - 1));
}

int CellTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_of(run_));
}

int CellTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
}

QVariant CellTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const report::Row& row = run_->table.rows[static_cast<std::size_t>(index.row())];
  const auto column = static_cast<Column>(index.column());
  switch (role) {
    case Qt::DisplayRole:
      return cell_text(row, column);
    case Qt::ToolTipRole:
      return cell_tip(row, column);
    case Qt::TextAlignmentRole:
      return alignment_of(column);
    case sort_role:
      return cell_sort_key(row, column);
    case style_key_role:
      return words(row.cell.cell.contender.id());
    case cell_status_role:
      // What is damaged has no status that could be trusted; it is wrong as it stands.
      return static_cast<int>(row.cell.damaged ? CellStatus::wrong : row.cell.cell.status);
    case baseline_role:
      return row.cell.cell.contender.id() == run_->table.baseline;
    case table_row_role:
      return static_cast<qulonglong>(index.row());
    case verdict_role:
      // The baseline has nothing to be compared with, and only these columns compare.
      if (!row.ratio || row.cell.cell.contender.id() == run_->table.baseline) return {};
      if (column != against_baseline) return {};
      return static_cast<int>(row.ratio->verdict);
    default:
      return {};
  }
}

QVariant CellTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= column_count)
    return QAbstractTableModel::headerData(section, orientation, role);
  if (role == Qt::DisplayRole) return tr(headers[section].title);
  if (role == Qt::ToolTipRole) return tr(headers[section].tip);
  if (role == Qt::TextAlignmentRole) return alignment_of(section);
  return {};
}

}  // namespace attnscope::gui
