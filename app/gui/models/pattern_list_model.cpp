// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_list_model.h"

#include <QFile>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"

namespace attnscope::gui {

PatternListModel::PatternListModel(QObject* parent) : QAbstractListModel(parent) {
  for (const AttentionPattern& pattern : built_in_patterns()) entries_.push_back({pattern, {}});
}

Result<int> PatternListModel::open_file(const QString& file) {
  QFile opened(file);
  if (!opened.open(QIODevice::ReadOnly)) {
    return fail("Cannot read {}: {}.", file.toStdString(), opened.errorString().toStdString());
  }
  const QByteArray text = opened.readAll();
  Result<AttentionPattern> pattern =
      parse_pattern({text.constData(), static_cast<std::size_t>(text.size())}, file.toStdString());
  if (!pattern) return tl::unexpected(pattern.error());

  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.file == file; });
  const auto row = static_cast<int>(known - entries_.begin());
  if (known != entries_.end()) {
    known->pattern = std::move(*pattern);
    Q_EMIT dataChanged(index(row), index(row));
    return row;
  }
  beginInsertRows({}, row, row);
  entries_.push_back({std::move(*pattern), file});
  endInsertRows();
  return row;
}

const AttentionPattern& PatternListModel::pattern(int row) const {
  return entries_.at(static_cast<std::size_t>(row)).pattern;
}

int PatternListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

QVariant PatternListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Entry& entry = entries_[static_cast<std::size_t>(index.row())];
  const std::string& title = entry.pattern.title;
  switch (role) {
    case Qt::DisplayRole:
      return words(title.empty() ? entry.pattern.name : title);
    case Qt::ToolTipRole:
      return entry.file.isEmpty() ? words(entry.pattern.description) : entry.file;
    default:
      return {};
  }
}

}  // namespace attnscope::gui
