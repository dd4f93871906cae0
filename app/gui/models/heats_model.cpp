// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/heats_model.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attnscope::gui {

QString state_words(HeatState state) {
  static constexpr std::array<const char*, heat_states> texts{QT_TR_NOOP("waiting"),
                                                              QT_TR_NOOP("being measured"),
                                                              QT_TR_NOOP("paused here"),
                                                              QT_TR_NOOP("measured"),
                                                              QT_TR_NOOP("out of memory in part"),
                                                              QT_TR_NOOP("wrong result"),
                                                              QT_TR_NOOP("crashed"),
                                                              QT_TR_NOOP("timed out"),
                                                              QT_TR_NOOP("skipped")};
  return HeatsModel::tr(texts.at(static_cast<std::size_t>(state)));
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
