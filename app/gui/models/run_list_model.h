#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The run list: live runs on top, then newest first. New snapshots change, insert and remove single
// rows, so that the view keeps its selection while a run grows.

#include <QAbstractListModel>
#include <vector>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

class RunListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role {
    uuid_role = Qt::UserRole + 1,
    status_role,    // RunStatus as int
    detail_role,    // the second line: when, where, how much
    fraction_role,  // of the heats done, 0 ... 1
    search_role,    // every word a person may look for
  };

  using QAbstractListModel::QAbstractListModel;

  void set_runs(const RunListPointer& runs);
  /// False until the store has been read for the first time.
  [[nodiscard]] bool is_known() const { return known_; }
  [[nodiscard]] const RunEntry* entry(const QString& uuid) const;
  [[nodiscard]] QModelIndex index_of(const QString& uuid) const;
  /// The newest live run, else nothing.
  [[nodiscard]] const RunEntry* live() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  [[nodiscard]] int row_of(const std::string& uuid, int from) const;
  std::vector<RunEntry> runs_;
  bool known_ = false;
};

/// "running", "done", ... with what went wrong: "done, 2 cells failed", "damaged, done".
[[nodiscard]] QString status_words(const RunInfo& run);

}  // namespace attnscope::gui
