#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The runs that a person looks for: every word of the search stands somewhere in a run's name,
// tags, device, date or note, and it has every chosen tag.
//
//   filter.setSourceModel(runs);
//   filter.set_search("laptop 2026-01");

#include <QSortFilterProxyModel>
#include <QStringList>

namespace attnscope::gui {

class RunFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  void set_search(const QString& text);
  void set_tags(const QStringList& tags);
  [[nodiscard]] const QStringList& tags() const { return tags_; }

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList words_, tags_;
};

}  // namespace attnscope::gui
