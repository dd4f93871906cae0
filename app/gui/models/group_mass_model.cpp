// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/group_mass_model.h"

#include <algorithm>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/attended_tokens_model.h"

namespace attnscope::gui {

void GroupMassModel::set_groups(const std::vector<TokenGroup>& of_tokens) {
  beginResetModel();
  groups_.clear();
  for (const TokenGroup group : token_groups) {
    if (std::ranges::find(of_tokens, group) != of_tokens.end()) groups_.push_back(group);
  }
  mass_.reset();
  endResetModel();
}

void GroupMassModel::set_mass(const std::optional<MassTable>& mass, bool difference) {
  mass_ = mass;
  difference_ = difference;
  if (groups_.empty()) return;
  Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int GroupMassModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(groups_.size());
}

int GroupMassModel::columnCount(const QModelIndex& parent) const {
  return rowCount(parent);
}

QVariant GroupMassModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const TokenGroup from = groups_[static_cast<std::size_t>(index.row())];
  const TokenGroup to = groups_[static_cast<std::size_t>(index.column())];
  const std::optional<double> mass =
      mass_ ? std::optional((*mass_)[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)])
            : std::nullopt;
  switch (role) {
    case Qt::DisplayRole:
      return mass ? share_words(*mass) : QStringLiteral("–");
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignCenter | Qt::AlignVCenter);
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole: {
      if (!mass) return tr("Not computed yet");
      const QString text = difference_ ? tr("Of a mean %1 token's mass, %2 more on %3 under B")
                                       : tr("Of a mean %1 token's mass, %2 on %3");
      return text.arg(charts::group_title(from), share_words(*mass), charts::group_title(to));
    }
    case mass_role:
      return mass ? QVariant(*mass) : QVariant();
    case difference_role:
      return difference_;
    default:
      return {};
  }
}

QVariant GroupMassModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (section < 0 || section >= rowCount()) return {};
  const QString name = charts::group_title(groups_[static_cast<std::size_t>(section)]);
  // The full name would make its column twice as wide as the others.
  const bool is_sentence = groups_[static_cast<std::size_t>(section)] == TokenGroup::sentence;
  if (role == Qt::DisplayRole) return is_sentence ? tr("sentence") : name;
  if (role == Qt::ToolTipRole) {
    return orientation == Qt::Vertical ? tr("%1 tokens attend").arg(name)
                                       : tr("%1 tokens are attended to").arg(name);
  }
  return {};
}

}  // namespace attnscope::gui
