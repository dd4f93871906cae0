// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_list_model.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/text.h"
#include "base/json.h"
#include "base/text_file.h"
#include "base/written_file.h"
#include "engine/checkpoint/family_description.h"

namespace attnscope::gui {
namespace {

constexpr std::uintmax_t most_bytes = 1 << 20;

}  // namespace

PatternListModel::PatternListModel(QObject* parent) : QAbstractListModel(parent) {
  for (const AttentionPattern& pattern : built_in_patterns()) {
    entries_.push_back(
        {.id = next_id(), .pattern = pattern, .before = pattern, .file = {}, .ships = true});
  }
}

Result<int> PatternListModel::open_file(const QString& file) {
  const Result<std::string> text = read_text_file(file.toStdString(), "pattern file", most_bytes);
  if (!text) return tl::unexpected(text.error());
  if (const auto json = parse_json(*text); json.is_object() && json.contains("model_type"))
    return open_layers(file, *text);
  Result<AttentionPattern> pattern = parse_pattern(*text, file.toStdString());
  if (!pattern) return tl::unexpected(pattern.error());

  if (const int row = row_of_file(file); row >= 0) {
    PatternEntry& known = entries_[static_cast<std::size_t>(row)];
    known.pattern = known.before = *std::move(pattern);
    Q_EMIT dataChanged(index(row), index(row));
    return row;
  }
  add({.id = next_id(), .pattern = *pattern, .before = *pattern, .file = file});
  return rowCount() - 1;
}

Result<int> PatternListModel::open_layers(const QString& file, const std::string& config) {
  const auto model = read_model_config(config, file.toStdString());
  if (!model) return tl::unexpected(model.error());
  const std::string name = QFileInfo(file).absoluteDir().dirName().toStdString();
  const std::vector<AttentionPattern> patterns = layer_patterns(*model, name);
  for (const AttentionPattern& pattern : patterns) {
    if (!has_name(pattern.name))
      add({.id = next_id(), .pattern = pattern, .before = pattern, .file = {}});
  }
  return row_of_name(patterns.front().name);
}

Status PatternListModel::save(int row, const QString& file) {
  if (const int other = row_of_file(file); other >= 0 && other != row) {
    return fail("{} is open here as \"{}\"; choose another file.", file.toStdString(),
                title(other).toStdString());
  }
  PatternEntry& saved = entries_.at(static_cast<std::size_t>(row));
  if (Status written = write_file(file.toStdString(), pattern_json(saved.pattern) + '\n'); !written)
    return written;
  saved.file = file;
  saved.before = saved.pattern;
  Q_EMIT dataChanged(index(row), index(row));
  return {};
}

const PatternEntry& PatternListModel::entry(int row) const {
  return entries_.at(static_cast<std::size_t>(row));
}

int PatternListModel::row_of(int id) const {
  const auto found = std::ranges::find(entries_, id, &PatternEntry::id);
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

int PatternListModel::row_of_file(const QString& file) const {
  const QString whole = QFileInfo(file).absoluteFilePath();
  const auto found = std::ranges::find_if(entries_, [&](const PatternEntry& entry) {
    return !entry.file.isEmpty() && QFileInfo(entry.file).absoluteFilePath() == whole;
  });
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

QString PatternListModel::title(int row) const {
  const AttentionPattern& shown = pattern(row);
  return words(shown.title.empty() ? shown.name : shown.title);
}

int PatternListModel::row_of_name(const std::string& name) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const PatternEntry& entry) { return entry.pattern.name == name; });
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

QList<int> PatternListModel::modified_rows() const {
  QList<int> rows;
  for (int row = 0; row < rowCount(); ++row) {
    if (entry(row).is_modified()) rows.append(row);
  }
  return rows;
}

void PatternListModel::add(PatternEntry entry) {
  const int row = rowCount();
  beginInsertRows({}, row, row);
  entries_.push_back(std::move(entry));
  endInsertRows();
}

void PatternListModel::remove(int id) {
  const int row = row_of(id);
  if (row < 0) return;
  beginRemoveRows({}, row, row);
  entries_.erase(entries_.begin() + row);
  endRemoveRows();
}

void PatternListModel::set_pattern(int id, const AttentionPattern& pattern) {
  const int row = row_of(id);
  if (row < 0 || entry(row).ships || entry(row).pattern == pattern) return;
  entries_[static_cast<std::size_t>(row)].pattern = pattern;
  Q_EMIT dataChanged(index(row), index(row));
}

int PatternListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

QVariant PatternListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const PatternEntry& shown = entry(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return shown.is_modified() ? title(index.row()) + QStringLiteral(" *") : title(index.row());
    case Qt::AccessibleTextRole:
      return shown.is_modified() ? tr("%1, not saved").arg(title(index.row())) : title(index.row());
    case Qt::ToolTipRole: {
      if (shown.ships) return words(shown.pattern.description);
      const QString place = shown.file.isEmpty() ? tr("No file yet") : shown.file;
      return shown.is_modified() ? tr("%1. Not saved: Ctrl+S saves it.").arg(place) : place;
    }
    default:
      return {};
  }
}

}  // namespace attnscope::gui
