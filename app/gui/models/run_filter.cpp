// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/run_filter.h"

#include <algorithm>

#include "app/gui/models/run_list_model.h"

namespace attnscope::gui {

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
