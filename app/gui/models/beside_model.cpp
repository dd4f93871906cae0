// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/beside_model.h"

#include "app/gui/models/cell_roles.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

constexpr ColumnTitle beside_titles[BesideModel::column_count] = {
    {"Contender", "Ours: pattern, implementation and window"},
    {"Measured", "What ours is a time of; the paper's is a whole cross-encoder of six layers"},
    {"Tokens", "[CLS], query and document with their [SEP]"},
    {"Time per document, here", "Median over the documents of the batch"},
    {"Published", "ECIR 2024, Table 3: one NVIDIA A100 40 GB; published, not measured here"},
    {"Memory per document, here", "Peak bytes during the call over the documents of the batch"},
    {"Published", "ECIR 2024, Table 3: one NVIDIA A100 40 GB; published, not measured here"},
    {"Model in the paper", "The cross-encoder that was measured there"},
};

bool is_text(int column) {
  return column == BesideModel::contender || column == BesideModel::operation ||
         column == BesideModel::their_model;
}

int beside_alignment(int column) {
  return static_cast<int>((is_text(column) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
}

}  // namespace

void BesideModel::set_run(const RunPointer& run) {
  beginResetModel();
  run_ = run;
  pairs_ = run ? report::beside_published(run->table) : std::vector<report::BesidePublished>();
  endResetModel();
}

int BesideModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(pairs_.size());
}

int BesideModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
}

QString BesideModel::text(const report::BesidePublished& pair, Column column) {
  const report::Row& row = *pair.row;
  const double documents = report::documents_of(row);
  switch (column) {
    case contender:
      return words(row.cell.cell.contender.id());
    case operation:
      return words(name_of(row.cell.point.operation));
    case tokens:
      return QString::number(row.cell.point.sequence_tokens);
    case own_time:
      return words(report::format_time(row.cell.summary.median_ns / documents));
    case their_time:
      return words(report::format_time(pair.cost.time_us_per_document * 1e3));
    case own_memory:
      return words(report::format_bytes(static_cast<double>(row.cell.cell.memory.requested_bytes) /
                                        documents));
    case their_memory:
      return words(report::format_bytes(pair.cost.memory_mb_per_document * 1e6));
    case their_model:
      return words(pair.cost.model);
    case column_count:
      break;
  }
  return {};
}

QVariant BesideModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (role == Qt::DisplayRole)
    return text(pairs_[static_cast<std::size_t>(index.row())], static_cast<Column>(index.column()));
  if (role == Qt::ToolTipRole) return tr(beside_titles[index.column()].tip);
  if (role == Qt::TextAlignmentRole) return beside_alignment(index.column());
  return {};
}

QVariant BesideModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= column_count)
    return QAbstractTableModel::headerData(section, orientation, role);
  if (role == Qt::DisplayRole) return tr(beside_titles[section].title);
  if (role == Qt::ToolTipRole) return tr(beside_titles[section].tip);
  if (role == Qt::TextAlignmentRole) return beside_alignment(section);
  return {};
}

}  // namespace attnscope::gui
