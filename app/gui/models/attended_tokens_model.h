#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The tokens that receive most from a selection, most first.

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "engine/inspect/dump.h"

namespace attnscope::gui {

class AttendedTokensModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { token, position, group, mass, column_count };
  enum Role { position_role = Qt::UserRole + 1, mass_role, group_role };
  static constexpr std::size_t most = 200;

  using QAbstractTableModel::QAbstractTableModel;

  /// By token, of a mean row; of a difference, of either sign.
  void set_mass(const std::shared_ptr<const Dump>& dump, const std::vector<double>& received);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Entry {
    std::int64_t position;
    double mass;
  };
  std::shared_ptr<const Dump> dump_;
  std::vector<Entry> entries_;
};

/// A share in few digits: "12.3 %", "< 0.1 %", "−4.0 %".
[[nodiscard]] QString share_words(double share);

}  // namespace attnscope::gui
