// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/run_list_model.h"

#include <QDateTime>
#include <QRegularExpression>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/sweep/pause.h"

namespace attnscope::gui {
namespace {

QString started_text(const RunInfo& run) {
  const QDateTime started = QDateTime::fromMSecsSinceEpoch(run.started_unix_ms);
  if (started.date() == QDate::currentDate())
    return QStringLiteral("today %1").arg(started.toString(QStringLiteral("HH:mm")));
  return started.toString(QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString title(const RunInfo& run) {
  return QStringLiteral("%1  %2").arg(run.number).arg(qstring(title_of(run)).simplified());
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
  const QString text =
      QStringLiteral("%1, %2, %3").arg(status_text(entry), heats, started_text(run));
  return entry.is_stored ? text : QStringLiteral("not stored yet, ") + text;
}

/// For a shipped run, the machine and the size are more informative than the time.
QString detail(const Listed& row) {
  const RunInfo& run = row.entry.info;
  if (row.file.isEmpty()) return detail(row.entry);
  const QString heats = counted(run.heats_done, QStringLiteral("heat"), QStringLiteral("heats"));
  static const QRegularExpression needless(QStringLiteral(" ?(\\(R\\)|\\(TM\\)|Processor|CPU)"));
  return QStringLiteral("%1, %2").arg(heats, qstring(run.start.device).remove(needless));
}

QString title(const Listed& row) {
  return row.file.isEmpty() ? title(row.entry.info) : qstring(title_of(row.entry.info));
}

QString accessible_text(const Listed& row) {
  QStringList parts{title(row)};
  if (!row.entry.info.tag.empty()) parts.append(qstring(row.entry.info.tag));
  parts.append(detail(row));
  return parts.join(QStringLiteral(", "));
}

/// Includes today's date, which the list itself shows as "today".
QString date_text(std::int64_t unix_ms) {
  return QDateTime::fromMSecsSinceEpoch(unix_ms).toString(QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString damaged_run_text() {
  return QStringLiteral(
      "Some stored values of this run do not match their fingerprints. Export run keeps the cells "
      "that can still be read.");
}

/// The essential facts about a run, in lines: name, note, what, where, when.
QString tip_of_row(const Listed& row) {
  const RunInfo& run = row.entry.info;
  constexpr int most = 400;  // letters that fit in a tool tip
  QStringList lines{shortened(title(run), most)};
  if (!run.name.empty()) lines.append(QStringLiteral("Sweep: ") + qstring(run.start.sweep_name));
  if (!run.tag.empty()) lines.append(shortened(QStringLiteral("Tags: ") + qstring(run.tag), most));
  if (!run.note.empty()) lines.append(shortened(qstring(run.note), most));
  lines.append({detail(row.entry), qstring(run.start.device),
                QStringLiteral("Started ") + date_text(run.started_unix_ms), qstring(run.id.uuid)});
  if (is_in_trash(run))
    lines.append(QStringLiteral("In the trash since ") + date_text(run.trashed_unix_ms));
  if (run.damaged) lines.append(damaged_run_text());
  if (!row.file.isEmpty()) lines.append(QStringLiteral("Read-only, from ") + row.file);
  return lines.join(QLatin1Char('\n'));
}

/// The text that a search covers.
QString search_text(const Listed& row) {
  const RunInfo& run = row.entry.info;
  return QStringList{title(run),           qstring(run.start.sweep_name),
                     qstring(run.tag),     qstring(run.start.device),
                     qstring(run.note),    detail(row),
                     qstring(run.id.uuid), date_text(run.started_unix_ms)}
      .join(QLatin1Char(' '));
}

/// For a paper's table, which is not a run.
QVariant table_data(const report::PublishedTable& table, int role) {
  switch (role) {
    case Qt::DisplayRole:
      return qstring(table.title);
    case Qt::AccessibleTextRole:
      return QStringList{qstring(table.title), qstring(table.subject),
                         qstring(report::published_label)}
          .join(QStringLiteral(", "));
    case Qt::ToolTipRole:
      return QStringLiteral("%1\n%2\nMeasured on: %3\n%4")
          .arg(qstring(table.subject), qstring(table.citation), qstring(table.machine),
               qstring(report::published_label));
    case RunListModel::uuid_role:
      return qstring(table.id);
    case RunListModel::detail_role:
      return qstring(table.subject);
    case RunListModel::search_role:
      return QStringList{qstring(table.title), qstring(table.subject), qstring(table.citation),
                         qstring(table.machine)}
          .join(QLatin1Char(' '));
    default:
      return {};
  }
}

std::string_view key_of_row(const Listed& row) {
  return row.table ? std::string_view(row.table->id) : row.entry.info.id.uuid;
}

}  // namespace

QString status_text(const RunEntry& entry) {
  const RunInfo& run = entry.info;
  QString text = qstring(name_of(run.status));
  if (entry.progress && is_paused(*entry.progress)) text = qstring(paused_words);
  if (run.status == RunStatus::running && entry.progress && is_waiting(*entry.progress))
    text = QStringLiteral("waiting");
  if (run.damaged) text = QStringLiteral("damaged, ") + text;
  if (run.nothing_measured) text += QStringLiteral(", nothing measured");
  if (run.cells_failed == 1) text += QStringLiteral(", 1 cell failed");
  if (run.cells_failed > 1) text += QStringLiteral(", %1 cells failed").arg(run.cells_failed);
  return text;
}

int RunListModel::row_of(std::string_view key, int from) const {
  const auto found = std::ranges::find(rows_.begin() + from, rows_.end(), key, key_of_row);
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

void RunListModel::set_runs(const RunListPointer& runs) {
  set_entries(runs->runs);
}

void RunListModel::set_entries(const std::vector<RunEntry>& entries) {
  std::vector<Listed> rows;
  rows.reserve(entries.size());
  for (const RunEntry& entry : entries) {
    rows.push_back({.entry = entry});
    if (damaged_.contains(qstring(entry.info.id.uuid))) rows.back().entry.info.damaged = true;
  }
  set_rows(std::move(rows));
}

void RunListModel::set_published(const std::vector<PublishedRun>& runs) {
  std::vector<Listed> rows;
  for (report::PublishedTable& table : report::published_tables())
    rows.push_back({.table = std::move(table)});
  for (const PublishedRun& run : runs) rows.push_back({.entry = run.entry, .file = run.file});
  set_rows(std::move(rows));
}

void RunListModel::set_rows(std::vector<Listed> rows) {
  known_ = true;
  const auto wanted = static_cast<int>(rows.size());
  for (int row = 0; row < wanted; ++row) {
    Listed& given = rows[static_cast<std::size_t>(row)];
    const int now = row_of(key_of_row(given), row);
    if (now < 0) {
      beginInsertRows({}, row, row);
      rows_.insert(rows_.begin() + row, std::move(given));
      endInsertRows();
      continue;
    }
    if (now != row) {
      beginMoveRows({}, now, now, {}, row);
      std::rotate(rows_.begin() + row, rows_.begin() + now, rows_.begin() + now + 1);
      endMoveRows();
    }
    rows_[static_cast<std::size_t>(row)] = std::move(given);
    Q_EMIT dataChanged(index(row), index(row));
  }
  if (rowCount() > wanted) {
    beginRemoveRows({}, wanted, rowCount() - 1);
    rows_.erase(rows_.begin() + wanted, rows_.end());
    endRemoveRows();
  }
}

void RunListModel::mark_damaged(const QStringList& uuids) {
  for (const QString& uuid : uuids) {
    damaged_.insert(uuid);
    const int row = row_of(uuid.toStdString(), 0);
    if (row < 0) continue;
    rows_[static_cast<std::size_t>(row)].entry.info.damaged = true;
    Q_EMIT dataChanged(index(row), index(row));
  }
}

QStringList RunListModel::tags() const {
  QStringList all;
  for (const Listed& row : rows_) {
    for (const std::string& word : tag_words(row.entry.info.tag)) all.append(qstring(word));
  }
  all.removeDuplicates();
  all.sort(Qt::CaseInsensitive);
  return all;
}

const Listed* RunListModel::listed(const QString& key) const {
  const int row = row_of(key.toStdString(), 0);
  return row < 0 ? nullptr : &rows_[static_cast<std::size_t>(row)];
}

const RunEntry* RunListModel::entry(const QString& uuid) const {
  const Listed* row = listed(uuid);
  return row && !row->table ? &row->entry : nullptr;
}

QModelIndex RunListModel::index_of(const QString& key) const {
  const int row = row_of(key.toStdString(), 0);
  return row < 0 ? QModelIndex() : index(row);
}

QString RunListModel::first_run() const {
  const auto run = std::ranges::find_if(rows_, [](const Listed& row) { return !row.table; });
  return run == rows_.end() ? QString() : qstring(run->entry.info.id.uuid);
}

const RunEntry* RunListModel::live() const {
  const bool some = !rows_.empty() && rows_.front().entry.info.status == RunStatus::running &&
                    !rows_.front().table;
  return some ? &rows_.front().entry : nullptr;
}

int RunListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant RunListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Listed& row = rows_[static_cast<std::size_t>(index.row())];
  if (row.table) return table_data(*row.table, role);
  const RunInfo& run = row.entry.info;
  switch (role) {
    case Qt::DisplayRole:
      return title(row);
    case Qt::EditRole:
      return qstring(title_of(run));
    case Qt::AccessibleTextRole:
      return accessible_text(row);
    case Qt::ToolTipRole:
      return tip_of_row(row);
    case uuid_role:
      return qstring(run.id.uuid);
    case status_role:
      return static_cast<int>(run.status);
    case detail_role:
      return detail(row);
    case fraction_role:
      return run.start.heats_planned > 0
                 ? static_cast<double>(run.heats_done) / run.start.heats_planned
                 : 0.0;
    case search_role:
      return search_text(row);
    case tags_role:
      return qstring(run.tag);
    case damaged_role:
      return run.damaged;
    case nothing_role:
      return run.nothing_measured;
    default:
      return {};
  }
}

bool RunListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !editable_ || !checkIndex(index, CheckIndexOption::IndexIsValid))
    return false;
  const RunInfo& run = rows_[static_cast<std::size_t>(index.row())].entry.info;
  const QString typed = harmless(value.toString().simplified());
  if (typed == qstring(title_of(run))) return false;
  // The sweep's own name is not stored as a second name.
  const bool own = typed != qstring(run.start.sweep_name);
  Q_EMIT rename_requested(qstring(run.id.uuid), own ? typed : QString());
  return true;
}

Qt::ItemFlags RunListModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractListModel::flags(index);
  return editable_ && index.isValid() ? flags | Qt::ItemIsEditable : flags;
}

void RunFilter::set_search(const QString& text) {
  search_words_ = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
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
             search_words_.begin(), search_words_.end(),
             [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); }) &&
         std::all_of(tags_.begin(), tags_.end(),
                     [&](const QString& tag) { return own.contains(tag); });
}

}  // namespace attnscope::gui
