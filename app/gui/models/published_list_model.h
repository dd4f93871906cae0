#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What others have published, read-only: the papers' tables, then the runs that ship with the
// program. Its roles are those of the run list, so that one delegate draws both.

#include <QAbstractListModel>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/report/published.h"

namespace attnscope::gui {

class PublishedListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  explicit PublishedListModel(QObject* parent = nullptr);

  void set_runs(const PublishedPointer& runs);
  /// The paper's table of that row; null: it is a run.
  [[nodiscard]] const report::PublishedTable* table(const QModelIndex& index) const;
  /// The run of that row; null: it is a table.
  [[nodiscard]] const PublishedRun* run(const QModelIndex& index) const;
  [[nodiscard]] QModelIndex index_of(const QString& key) const;
  /// The first run; invalid where none ships.
  [[nodiscard]] QModelIndex first_run() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  [[nodiscard]] int tables() const { return static_cast<int>(tables_.size()); }
  [[nodiscard]] static QVariant table_data(const report::PublishedTable& table, int role);
  [[nodiscard]] static QVariant run_data(const PublishedRun& run, int role);

  std::vector<report::PublishedTable> tables_;
  PublishedPointer runs_;
};

}  // namespace attnscope::gui
