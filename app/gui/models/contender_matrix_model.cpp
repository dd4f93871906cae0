// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/contender_matrix_model.h"

#include <algorithm>
#include <utility>

namespace attnscope::gui {
namespace {

using Named = ContenderMatrixModel::Named;

int place_of(const QList<Named>& names, const QString& name) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const Named& named) { return named.name == name; });
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// A long name is broken behind the hyphen that is nearest to its middle.
QString in_two_lines(const QString& name) {
  constexpr qsizetype longest_line = 18;
  const qsizetype middle = name.size() / 2;
  qsizetype best = -1;
  for (qsizetype at = 0; at < name.size(); ++at) {
    if (name.at(at) == QLatin1Char('-') && qAbs(at - middle) < qAbs(best - middle)) best = at;
  }
  if (name.size() <= longest_line || best < 0) return name;
  return name.left(best + 1) + QLatin1Char('\n') + name.mid(best + 1);
}

}  // namespace

void ContenderMatrixModel::add_missing_names() {
  for (const auto& [pattern, implementation] : checked_) {
    if (place_of(patterns_, pattern) < 0) patterns_.append({pattern, {}});
    if (place_of(implementations_, implementation) < 0)
      implementations_.append({implementation, {}});
  }
}

void ContenderMatrixModel::set_names(const QList<Named>& patterns,
                                     const QList<Named>& implementations) {
  beginResetModel();
  patterns_ = patterns;
  implementations_ = implementations;
  add_missing_names();
  endResetModel();
}

void ContenderMatrixModel::set_checked(const std::vector<PatternAndImplementation>& pairs) {
  beginResetModel();
  checked_ = pairs;
  add_missing_names();
  endResetModel();
}

void ContenderMatrixModel::set_impossible(std::map<PatternAndImplementation, QString> reasons) {
  if (reasons == impossible_) return;
  impossible_ = std::move(reasons);
  if (rowCount() > 0 && columnCount() > 0)
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

QString ContenderMatrixModel::reason_against(const PatternAndImplementation& pair) const {
  const auto found = impossible_.find(pair);
  return found == impossible_.end() ? QString() : found->second;
}

QModelIndex ContenderMatrixModel::index_of(const QString& pattern,
                                           const QString& implementation) const {
  const int row = place_of(implementations_, implementation);
  const int column = place_of(patterns_, pattern);
  return row < 0 || column < 0 ? QModelIndex() : index(row, column);
}

PatternAndImplementation ContenderMatrixModel::pair_at(const QModelIndex& index) const {
  return {patterns_.at(index.column()).name, implementations_.at(index.row()).name};
}

bool ContenderMatrixModel::is_checked(const PatternAndImplementation& pair) const {
  return std::find(checked_.begin(), checked_.end(), pair) != checked_.end();
}

int ContenderMatrixModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(implementations_.size());
}

int ContenderMatrixModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(patterns_.size());
}

QVariant ContenderMatrixModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const PatternAndImplementation pair = pair_at(index);
  const QString id = pair.first + QLatin1Char('/') + pair.second;
  if (role == Qt::CheckStateRole) return is_checked(pair) ? Qt::Checked : Qt::Unchecked;
  const QString reason = reason_against(pair);
  if (role == reason_role) return reason;
  if (role == Qt::AccessibleTextRole)
    return reason.isEmpty() ? id : tr("%1, cannot be measured: %2").arg(id, reason);
  if (role == Qt::ToolTipRole) {
    if (!reason.isEmpty()) return tr("%1 cannot be measured: %2").arg(id, reason);
    const QString tip = implementations_.at(index.row()).tip;
    return tip.isEmpty() ? id : QStringLiteral("%1\n%2").arg(id, tip);
  }
  return {};
}

QVariant ContenderMatrixModel::headerData(int section, Qt::Orientation orientation,
                                          int role) const {
  const QList<Named>& names = orientation == Qt::Horizontal ? patterns_ : implementations_;
  if (section < 0 || section >= names.size()) return {};
  if (role == Qt::DisplayRole) {
    return orientation == Qt::Horizontal ? in_two_lines(names.at(section).name)
                                         : names.at(section).name;
  }
  if (role == Qt::AccessibleTextRole) return names.at(section).name;
  if (role == Qt::ToolTipRole) return names.at(section).tip;
  if (role == Qt::TextAlignmentRole && orientation == Qt::Vertical)
    return static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter);
  return {};
}

Qt::ItemFlags ContenderMatrixModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable |
         Qt::ItemNeverHasChildren;
}

bool ContenderMatrixModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid))
    return false;
  const PatternAndImplementation pair = pair_at(index);
  const bool check = value.toInt() == Qt::Checked;
  if (check == is_checked(pair)) return true;
  if (check && !reason_against(pair).isEmpty()) return false;
  if (check) {
    checked_.push_back(pair);
  } else {
    std::erase(checked_, pair);
  }
  Q_EMIT dataChanged(index, index, {Qt::CheckStateRole});
  Q_EMIT edited();
  return true;
}

}  // namespace attnscope::gui
