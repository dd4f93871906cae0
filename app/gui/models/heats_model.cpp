// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/heats_model.h"

#include <algorithm>
#include <utility>

namespace attnscope::gui {

QString state_words(HeatState state) {
  switch (state) {
    case HeatState::waiting:
      return HeatsModel::tr("waiting");
    case HeatState::running:
      return HeatsModel::tr("being measured");
    case HeatState::paused:
      return HeatsModel::tr("paused here");
    case HeatState::done:
      return HeatsModel::tr("measured");
    case HeatState::too_large:
      return HeatsModel::tr("out of memory in part");
    case HeatState::wrong:
      return HeatsModel::tr("wrong result");
    case HeatState::crashed:
      return HeatsModel::tr("crashed");
    case HeatState::timeout:
      return HeatsModel::tr("timed out");
    case HeatState::skipped:
      break;
  }
  return HeatsModel::tr("skipped");
}

void HeatsModel::set_heats(const HeatsPointer& heats) {
  const bool grows =
      heats && heats_ && heats->uuid == heats_->uuid && heats->heats.size() == heats_->heats.size();
  if (!grows) {
    beginResetModel();
    heats_ = heats;
    endResetModel();
    return;
  }
  const HeatsPointer before = std::exchange(heats_, heats);
  for (int row = 0; row < rowCount(); ++row) {
    const auto place = static_cast<std::size_t>(row);
    if (before->heats[place] != heats_->heats[place]) Q_EMIT dataChanged(index(row), index(row));
  }
}

int HeatsModel::count(HeatState state) const {
  return heats_ ? static_cast<int>(std::ranges::count(heats_->heats, state, &HeatEntry::state)) : 0;
}

int HeatsModel::current_row() const {
  for (int row = 0; row < rowCount(); ++row) {
    const HeatState state = heats_->heats[static_cast<std::size_t>(row)].state;
    if (state == HeatState::running || state == HeatState::paused) return row;
  }
  return -1;
}

int HeatsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !heats_ ? 0 : static_cast<int>(heats_->heats.size());
}

QString HeatsModel::sentence(int row) const {
  const HeatEntry& heat = heats_->heats[static_cast<std::size_t>(row)];
  QString text = tr("Heat %1 of %2").arg(row + 1).arg(rowCount());
  if (!heat.point.isEmpty()) text += QStringLiteral(", ") + heat.point;
  text += QStringLiteral(": ") + state_words(heat.state);
  if (!heat.outcome.isEmpty()) text += QStringLiteral(" (%1)").arg(heat.outcome);
  return text;
}

QVariant HeatsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
      return sentence(index.row());
    case state_role:
      return static_cast<int>(heats_->heats[static_cast<std::size_t>(index.row())].state);
    default:
      return {};
  }
}

}  // namespace attnscope::gui
