// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/comparison_model.h"

#include "app/gui/session/text.h"

namespace attnscope::gui {

ComparisonModel::ComparisonModel() {
  std::vector<Column> columns{
      {tr("At"), {}, false, [](const report::ComparedLine& line) { return words(line.setting); }}};
  for (std::size_t at = 0; at < report::ComparedLine::texts_count; ++at) {
    const QString heading = words(report::comparison_headings()[at]);
    columns.push_back({heading.left(1).toUpper() + heading.mid(1),
                       {},
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
    case style_key_role:
      return words(cell.a.cell.cell.contender.id());
    case verdict_role:
      return cell.ratio ? QVariant(static_cast<int>(cell.ratio->verdict)) : QVariant();
    default:
      return RowsModel::data(index, role);
  }
}

}  // namespace attnscope::gui
