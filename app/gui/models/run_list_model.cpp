// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/run_list_model.h"

#include <QDateTime>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/sweep/pause.h"

namespace attnscope::gui {
namespace {

QString started_words(const RunInfo& run) {
  const QDateTime started = QDateTime::fromMSecsSinceEpoch(run.started_unix_ms);
  if (started.date() == QDate::currentDate())
    return QStringLiteral("today %1").arg(started.toString(QStringLiteral("HH:mm")));
  return started.toString(QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString title(const RunInfo& run) {
  return QStringLiteral("%1  %2").arg(run.number).arg(words(title_of(run)));
}

QString detail(const RunEntry& entry) {
  const RunInfo& run = entry.info;
  const QString heats =
      run.status == RunStatus::done && run.heats_done == run.start.heats_planned
          ? counted(run.heats_done, QStringLiteral("heat"), QStringLiteral("heats"))
          : QStringLiteral("%1 of %2")
                .arg(run.heats_done)
                .arg(counted(run.start.heats_planned, QStringLiteral("heat"),
                             QStringLiteral("heats")));
  return QStringLiteral("%1, %2, %3").arg(status_words(entry), started_words(run), heats);
}

QString accessible_words(const RunEntry& entry) {
  QStringList parts{title(entry.info)};
  if (!entry.info.tag.empty()) parts.append(words(entry.info.tag));
  parts.append(detail(entry));
  return parts.join(QStringLiteral(", "));
}

/// With the date of today too, which the list itself calls "today".
QString date_words(std::int64_t unix_ms) {
  return QDateTime::fromMSecsSinceEpoch(unix_ms).toString(QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString damaged_run_in_words() {
  return QStringLiteral(
      "Some of what is stored of this run does not match its fingerprint. Export run keeps the "
      "cells that can still be read.");
}

}  // namespace

QString status_words(const RunEntry& entry) {
  const RunInfo& run = entry.info;
  const bool waits = entry.progress && is_paused(*entry.progress);
  QString text = words(waits ? paused_words : name_of(run.status));
  if (run.damaged) text = QStringLiteral("damaged, ") + text;
  if (run.cells_failed == 1) text += QStringLiteral(", 1 cell failed");
  if (run.cells_failed > 1) text += QStringLiteral(", %1 cells failed").arg(run.cells_failed);
  return text;
}

QString run_tip(const RunEntry& entry) {
  const RunInfo& run = entry.info;
  constexpr int most = 400;  // letters that a tip has room for
  QStringList lines{shortened(title(run), most)};
  if (!run.name.empty()) lines.append(QStringLiteral("Sweep: ") + words(run.start.sweep_name));
  if (!run.tag.empty()) lines.append(shortened(QStringLiteral("Tags: ") + words(run.tag), most));
  if (!run.note.empty()) lines.append(shortened(words(run.note), most));
  lines.append({detail(entry), words(run.start.device),
                QStringLiteral("Started ") + date_words(run.started_unix_ms), words(run.id.uuid)});
  if (is_in_trash(run))
    lines.append(QStringLiteral("In the trash since ") + date_words(run.trashed_unix_ms));
  if (run.damaged) lines.append(damaged_run_in_words());
  return lines.join(QLatin1Char('\n'));
}

QString run_search_words(const RunEntry& entry) {
  const RunInfo& run = entry.info;
  return QStringList{title(run),         words(run.start.sweep_name),
                     words(run.tag),     words(run.start.device),
                     words(run.note),    detail(entry),
                     words(run.id.uuid), date_words(run.started_unix_ms)}
      .join(QLatin1Char(' '));
}

int RunListModel::row_of(const std::string& uuid, int from) const {
  const auto found = std::find_if(runs_.begin() + from, runs_.end(), [&](const RunEntry& entry) {
    return entry.info.id.uuid == uuid;
  });
  return found == runs_.end() ? -1 : static_cast<int>(found - runs_.begin());
}

void RunListModel::set_runs(const RunListPointer& runs) {
  set_entries(runs->runs);
}

void RunListModel::set_entries(const std::vector<RunEntry>& entries) {
  known_ = true;
  const auto wanted = static_cast<int>(entries.size());
  for (int row = 0; row < wanted; ++row) {
    RunEntry entry = entries[static_cast<std::size_t>(row)];
    if (damaged_.contains(words(entry.info.id.uuid))) entry.info.damaged = true;
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

void RunListModel::mark_damaged(const QStringList& uuids) {
  for (const QString& uuid : uuids) {
    damaged_.insert(uuid);
    const int row = row_of(uuid.toStdString(), 0);
    if (row < 0) continue;
    runs_[static_cast<std::size_t>(row)].info.damaged = true;
    Q_EMIT dataChanged(index(row), index(row));
  }
}

QStringList RunListModel::tags() const {
  QStringList all;
  for (const RunEntry& entry : runs_) {
    for (const std::string& word : tag_words(entry.info.tag)) all.append(words(word));
  }
  all.removeDuplicates();
  all.sort(Qt::CaseInsensitive);
  return all;
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
    case Qt::EditRole:
      return words(title_of(run));
    case Qt::AccessibleTextRole:
      return accessible_words(entry);
    case Qt::ToolTipRole:
      return run_tip(entry);
    case uuid_role:
      return words(run.id.uuid);
    case status_role:
      return static_cast<int>(run.status);
    case detail_role:
      return detail(entry);
    case fraction_role:
      return run.start.heats_planned > 0
                 ? static_cast<double>(run.heats_done) / run.start.heats_planned
                 : 0.0;
    case search_role:
      return run_search_words(entry);
    case tags_role:
      return words(run.tag);
    case damaged_role:
      return run.damaged;
    default:
      return {};
  }
}

bool RunListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !editable_ || !checkIndex(index, CheckIndexOption::IndexIsValid))
    return false;
  const RunInfo& run = runs_[static_cast<std::size_t>(index.row())].info;
  const QString typed = harmless(value.toString().simplified());
  if (typed == words(title_of(run))) return false;
  // The sweep's own name needs no second one.
  const bool own = typed != words(run.start.sweep_name);
  Q_EMIT rename_asked(words(run.id.uuid), own ? typed : QString());
  return true;
}

Qt::ItemFlags RunListModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractListModel::flags(index);
  return editable_ && index.isValid() ? flags | Qt::ItemIsEditable : flags;
}

void RunFilter::set_search(const QString& text) {
  words_ = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  invalidateFilter();
}

void RunFilter::set_tags(const QStringList& tags) {
  tags_ = tags;
  invalidateFilter();
}

bool RunFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const QModelIndex index = sourceModel()->index(row, 0, parent);
  const QString text = index.data(RunListModel::search_role).toString();
  const QStringList own =
      index.data(RunListModel::tags_role).toString().split(QLatin1Char(' '), Qt::SkipEmptyParts);
  return std::all_of(
             words_.begin(), words_.end(),
             [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); }) &&
         std::all_of(tags_.begin(), tags_.end(),
                     [&](const QString& tag) { return own.contains(tag); });
}

}  // namespace attnscope::gui
