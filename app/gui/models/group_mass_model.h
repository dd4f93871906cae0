#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Mass from token group to token group: a row for each group that attends, a column for each that
// is attended to; only groups that have tokens.

#include <QAbstractTableModel>
#include <optional>
#include <vector>

#include "engine/inspect/head_summary.h"

namespace attnscope::gui {

class GroupMassModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role { mass_role = Qt::UserRole + 1, difference_role };

  using QAbstractTableModel::QAbstractTableModel;

  void set_groups(const std::vector<TokenGroup>& of_tokens);
  /// No value: dashes, until there is one.
  void set_mass(const std::optional<MassTable>& mass, bool difference);

  [[nodiscard]] const std::vector<TokenGroup>& groups() const { return groups_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  std::vector<TokenGroup> groups_;  // that have tokens
  std::optional<MassTable> mass_;
  bool difference_ = false;
};

}  // namespace attnscope::gui
