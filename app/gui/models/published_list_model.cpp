// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/published_list_model.h"

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {

PublishedListModel::PublishedListModel(QObject* parent)
    : QAbstractListModel(parent), tables_(report::published_tables()) {}

void PublishedListModel::set_runs(const PublishedPointer& runs) {
  const auto before = static_cast<int>(runs_ ? runs_->runs.size() : 0);
  if (before > 0) {
    beginRemoveRows({}, tables(), tables() + before - 1);
    runs_.reset();
    endRemoveRows();
  }
  const auto now = static_cast<int>(runs ? runs->runs.size() : 0);
  if (now == 0) return;
  beginInsertRows({}, tables(), tables() + now - 1);
  runs_ = runs;
  endInsertRows();
}

const report::PublishedTable* PublishedListModel::table(const QModelIndex& index) const {
  const bool is_table = index.isValid() && index.row() < tables();
  return is_table ? &tables_[static_cast<std::size_t>(index.row())] : nullptr;
}

const PublishedRun* PublishedListModel::run(const QModelIndex& index) const {
  const bool is_run = index.isValid() && index.row() >= tables() && index.row() < rowCount();
  return is_run ? &runs_->runs[static_cast<std::size_t>(index.row() - tables())] : nullptr;
}

QModelIndex PublishedListModel::index_of(const QString& key) const {
  for (int row = 0; row < rowCount(); ++row) {
    if (index(row).data(RunListModel::uuid_role).toString() == key) return index(row);
  }
  return {};
}

QModelIndex PublishedListModel::first_run() const {
  return rowCount() > tables() ? index(tables()) : QModelIndex();
}

int PublishedListModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  return tables() + static_cast<int>(runs_ ? runs_->runs.size() : 0);
}

QVariant PublishedListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (const report::PublishedTable* published = table(index)) return table_data(*published, role);
  return run_data(*run(index), role);
}

QVariant PublishedListModel::table_data(const report::PublishedTable& table, int role) {
  switch (role) {
    case Qt::DisplayRole:
      return words(table.title);
    case Qt::AccessibleTextRole:
      return tr("%1, %2, %3")
          .arg(words(table.title), words(table.subject), words(report::published_label));
    case Qt::ToolTipRole:
      return tr("%1\n%2\nMeasured on: %3\n%4")
          .arg(words(table.subject), words(table.citation), words(table.machine),
               words(report::published_label));
    case RunListModel::uuid_role:
      return words(table.id);
    case RunListModel::detail_role:
      return words(table.subject);
    case RunListModel::search_role:
      return tr("%1 %2 %3 %4")
          .arg(words(table.title), words(table.subject), words(table.citation),
               words(table.machine));
    default:
      return {};
  }
}

QVariant PublishedListModel::run_data(const PublishedRun& run, int role) {
  const RunInfo& info = run.entry.info;
  const QString detail =
      tr("%1, %2").arg(counted(info.heats_done, tr("heat"), tr("heats")), words(info.start.device));
  switch (role) {
    case Qt::DisplayRole:
      return words(title_of(info));
    case Qt::AccessibleTextRole:
      return tr("%1, %2").arg(words(title_of(info)), detail);
    case Qt::ToolTipRole:
      return tr("%1\n%2\nRead-only, from %3").arg(run_tip(run.entry), detail, run.file);
    case RunListModel::uuid_role:
      return words(info.id.uuid);
    case RunListModel::status_role:
      return static_cast<int>(info.status);
    case RunListModel::damaged_role:
      return info.damaged;
    case RunListModel::detail_role:
      return detail;
    case RunListModel::tags_role:
      return words(info.tag);
    case RunListModel::search_role:
      return QString(run_search_words(run.entry) + QLatin1Char(' ') + detail);
    default:
      return {};
  }
}

}  // namespace attnscope::gui
