// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/published_table_model.h"

#include "app/gui/session/text.h"

namespace attnscope::gui {

void PublishedTableModel::set_table(const report::PublishedTable& table) {
  beginResetModel();
  table_ = table;
  endResetModel();
}

int PublishedTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int PublishedTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

QVariant PublishedTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto column = static_cast<std::size_t>(index.column());
  if (role == Qt::DisplayRole)
    return words(table_.rows[static_cast<std::size_t>(index.row())][column]);
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((table_.columns[column].is_number ? Qt::AlignRight : Qt::AlignLeft) |
                            Qt::AlignVCenter);
  }
  return {};
}

QVariant PublishedTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
    return QAbstractTableModel::headerData(section, orientation, role);
  const report::SheetColumn& column = table_.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) {
    // In two lines: fifteen columns of long titles would not fit beside each other.
    QString title = words(column.title);
    title.replace(QStringLiteral(" w = "), QStringLiteral("\nw = "));
    return title.replace(QStringLiteral(" ("), QStringLiteral("\n("));
  }
  if (role == Qt::ToolTipRole) return words(column.title);
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((column.is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace attnscope::gui
