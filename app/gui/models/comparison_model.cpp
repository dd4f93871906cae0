// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/comparison_model.h"

#include "app/gui/session/text.h"

namespace attnscope::gui {

void ComparisonModel::set_comparison(const ComparisonPointer& comparison) {
  beginResetModel();
  comparison_ = comparison;
  lines_ = comparison ? report::comparison_lines(comparison->comparison)
                      : std::vector<report::ComparedLine>();
  endResetModel();
}

int ComparisonModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int ComparisonModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
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
  const auto row = static_cast<std::size_t>(index.row());
  const report::ComparedCell& cell = comparison_->comparison.cells[row];
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == setting
                 ? words(lines_[row].setting)
                 : words(lines_[row].texts[static_cast<std::size_t>(index.column() - 1)]);
    case Qt::TextAlignmentRole: {
      const bool is_number = index.column() >= time_a;
      return static_cast<int>(Qt::AlignVCenter | (is_number ? Qt::AlignRight : Qt::AlignLeft));
    }
    case Qt::ToolTipRole:
      if (!cell.a.cell.cell.reason.empty()) return tr("A: %1").arg(words(cell.a.cell.cell.reason));
      if (!cell.b.cell.cell.reason.empty()) return tr("B: %1").arg(words(cell.b.cell.cell.reason));
      return {};
    case sort_role:
      return sort_key(index.row(), index.column());
    case style_key_role:
      return words(cell.a.cell.cell.contender.id());
    case verdict_role:
      return cell.ratio ? QVariant(static_cast<int>(cell.ratio->verdict)) : QVariant();
    default:
      return {};
  }
}

QVariant ComparisonModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  if (section == setting) return tr("At");
  const auto& headings = report::comparison_headings();
  const QString heading = words(headings[static_cast<std::size_t>(section - 1)]);
  return heading.left(1).toUpper() + heading.mid(1);
}

}  // namespace attnscope::gui
