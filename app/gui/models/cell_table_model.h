#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The cells of a run as a table: what was measured, and how it stands against the baseline.

#include <QAbstractTableModel>

#include "app/gui/models/cell_roles.h"
#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

class CellTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    contender,
    window,
    tokens,
    median,
    memory,
    against_baseline,
    share_of_limit,
    executed,
    per_document,
    batch,
    error,
    status,
    column_count
  };
  using QAbstractTableModel::QAbstractTableModel;

  /// A snapshot of the same run that only grew adds rows, so that scrolling and selection stay.
  void set_run(const RunPointer& run);
  [[nodiscard]] const RunPointer& run() const { return run_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  RunPointer run_;
};

}  // namespace attnscope::gui
