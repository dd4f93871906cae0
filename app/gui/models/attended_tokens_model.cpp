// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/attended_tokens_model.h"

#include <cmath>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/session/text.h"
#include "engine/inspect/head_summary.h"

namespace attnscope::gui {

QString share_words(double share) {
  const double percent = std::abs(share) * 100;
  const QString sign = share < 0 ? QStringLiteral("−") : QString();
  const QString unit = QStringLiteral("\u00a0%");  // a line does not break before it
  if (percent == 0) return QLatin1Char('0') + unit;
  if (percent < 0.1) {
    return (sign.isEmpty() ? QStringLiteral("<\u00a00.1") : QStringLiteral(">\u00a0−0.1")) + unit;
  }
  return sign + QString::number(percent, 'f', 1) + unit;
}

void AttendedTokensModel::set_mass(const std::shared_ptr<const Dump>& dump,
                                   const std::vector<double>& received) {
  beginResetModel();
  dump_ = dump;
  entries_.clear();
  for (const std::int64_t at : most_attended(received, most)) {
    const double value = received[static_cast<std::size_t>(at)];
    if (value == 0) break;
    entries_.push_back({at, value});
  }
  endResetModel();
}

int AttendedTokensModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

int AttendedTokensModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
}

QVariant AttendedTokensModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Entry& entry = entries_[static_cast<std::size_t>(index.row())];
  const auto at = static_cast<std::size_t>(entry.position);
  const TokenGroup of = dump_->info().groups[at];
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case token:
          return words(dump_->info().tokens[at]);
        case position:
          return QString::number(entry.position);
        case group:
          return charts::group_title(of);
        case mass:
          return share_words(entry.mass);
        default:
          return {};
      }
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(index.column() == token || index.column() == group
                                     ? Qt::AlignLeft | Qt::AlignVCenter
                                     : Qt::AlignRight | Qt::AlignVCenter);
    case position_role:
      return QVariant::fromValue<qint64>(entry.position);
    case mass_role:
      return entry.mass;
    case group_role:
      return static_cast<int>(of);
    default:
      return {};
  }
}

QVariant AttendedTokensModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= column_count) return {};
  static const QString names[] = {tr("Token"), tr("At"), tr("Group"), tr("Mass")};
  static const QString tips[] = {tr("The token's text"), tr("Its place, counted from 0"),
                                 tr("Its token group"),
                                 tr("Share of a mean selected row that goes to it")};
  if (role == Qt::DisplayRole) return names[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

}  // namespace attnscope::gui
