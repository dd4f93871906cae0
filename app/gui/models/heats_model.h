#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heats of the live run, one row each, in the order in which they are measured.

#include <QAbstractListModel>

#include "app/gui/session/heats.h"

namespace attnscope::gui {

class HeatsModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role {
    state_role = Qt::UserRole + 1,  // HeatState as int
  };

  using QAbstractListModel::QAbstractListModel;

  /// Null: none. Later snapshots of the same run update single rows.
  void set_heats(const HeatsPointer& heats);
  [[nodiscard]] int count(HeatState state) const;
  /// The row that is being measured, or that the run waits at; -1: none.
  [[nodiscard]] int current_row() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  [[nodiscard]] QString sentence(int row) const;

  HeatsPointer heats_;
};

/// "waiting", "wrong result", ...
[[nodiscard]] QString state_words(HeatState state);

}  // namespace attnscope::gui
