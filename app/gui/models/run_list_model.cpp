// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/run_list_model.h"

#include <QDateTime>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

QString started_words(const RunInfo& run) {
  const QDateTime started = QDateTime::fromMSecsSinceEpoch(run.started_unix_ms);
  if (started.date() == QDate::currentDate())
    return QStringLiteral("today %1").arg(started.toString(QStringLiteral("HH:mm")));
  return started.toString(QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString title(const RunInfo& run) {
  QString text = QStringLiteral("%1  %2").arg(run.number).arg(words(run.start.sweep_name));
  if (!run.tag.empty()) text += QStringLiteral("  (%1)").arg(words(run.tag));
  return text;
}

QString detail(const RunInfo& run) {
  const QString heats =
      run.status == RunStatus::done && run.heats_done == run.start.heats_planned
          ? QStringLiteral("%1 heats").arg(run.heats_done)
          : QStringLiteral("%1 of %2 heats").arg(run.heats_done).arg(run.start.heats_planned);
  return QStringLiteral("%1, %2, %3").arg(status_words(run), started_words(run), heats);
}

QString damage_in_words() {
  return QStringLiteral(
      "\nWhat is stored of this run's start does not match its fingerprint. Export run keeps the "
      "cells that can still be read.");
}

}  // namespace

QString status_words(const RunInfo& run) {
  QString text = words(name_of(run.status));
  if (run.damaged) text = QStringLiteral("damaged, ") + text;
  if (run.cells_failed == 1) text += QStringLiteral(", 1 cell failed");
  if (run.cells_failed > 1) text += QStringLiteral(", %1 cells failed").arg(run.cells_failed);
  return text;
}

int RunListModel::row_of(const std::string& uuid, int from) const {
  const auto found = std::find_if(runs_.begin() + from, runs_.end(), [&](const RunEntry& entry) {
    return entry.info.id.uuid == uuid;
  });
  return found == runs_.end() ? -1 : static_cast<int>(found - runs_.begin());
}

void RunListModel::set_runs(const RunListPointer& runs) {
  known_ = true;
  const auto wanted = static_cast<int>(runs->runs.size());
  for (int row = 0; row < wanted; ++row) {
    const RunEntry& entry = runs->runs[static_cast<std::size_t>(row)];
    const int now = row_of(entry.info.id.uuid, row);
    if (now < 0) {
      beginInsertRows({}, row, row);
      runs_.insert(runs_.begin() + row, entry);
      endInsertRows();
      continue;
    }
    if (now != row) {
      beginMoveRows({}, now, now, {}, row);
      std::rotate(runs_.begin() + row, runs_.begin() + now, runs_.begin() + now + 1);
      endMoveRows();
    }
    runs_[static_cast<std::size_t>(row)] = entry;
    Q_EMIT dataChanged(index(row), index(row));
  }
  if (rowCount() > wanted) {
    beginRemoveRows({}, wanted, rowCount() - 1);
    runs_.erase(runs_.begin() + wanted, runs_.end());
    endRemoveRows();
  }
}

const RunEntry* RunListModel::entry(const QString& uuid) const {
  const int row = row_of(uuid.toStdString(), 0);
  return row < 0 ? nullptr : &runs_[static_cast<std::size_t>(row)];
}

QModelIndex RunListModel::index_of(const QString& uuid) const {
  const int row = row_of(uuid.toStdString(), 0);
  return row < 0 ? QModelIndex() : index(row);
}

const RunEntry* RunListModel::live() const {
  const bool some = !runs_.empty() && runs_.front().info.status == RunStatus::running;
  return some ? &runs_.front() : nullptr;
}

int RunListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(runs_.size());
}

QVariant RunListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const RunEntry& entry = runs_[static_cast<std::size_t>(index.row())];
  const RunInfo& run = entry.info;
  switch (role) {
    case Qt::DisplayRole:
      return title(run);
    case Qt::AccessibleTextRole:
      return QString(title(run) + QStringLiteral(", ") + detail(run));
    case Qt::ToolTipRole:
      return QStringLiteral("%1\n%2\n%3\n%4")
                 .arg(title(run), detail(run), words(run.start.device), words(run.id.uuid)) +
             (run.damaged ? damage_in_words() : QString());
    case uuid_role:
      return words(run.id.uuid);
    case status_role:
      return static_cast<int>(run.status);
    case detail_role:
      return detail(run);
    case fraction_role:
      return run.start.heats_planned > 0
                 ? static_cast<double>(run.heats_done) / run.start.heats_planned
                 : 0.0;
    case search_role:
      return QString(title(run) + QLatin1Char(' ') + detail(run) + QLatin1Char(' ') +
                     words(run.start.device) + QLatin1Char(' ') + words(run.note));
    default:
      return {};
  }
}

}  // namespace attnscope::gui
