// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/advice_model.h"

#include <QStringList>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/statistics/summary.h"

namespace attnscope::gui {
namespace {

using report::Advised;
using report::Standing;

QString verdict_words(const Advised& one) {
  if (one.standing != Standing::within_limits) return words(report::name_of(one.standing));
  if (one.is_baseline) return AdviceModel::tr("baseline");
  return one.to_baseline ? words(report::verdict_in_words(*one.to_baseline)) : QString();
}

QStringList remarks_of(const Advised& one) {
  QStringList remarks;
  for (const std::string& remark : one.remarks) remarks.append(words(remark));
  return remarks;
}

bool is_carried(const Advised& one) {
  return one.is_interpolated || one.counted_as.has_value();
}

/// Of those within the limits, which come first.
int place_of(const Advised& one, std::size_t row) {
  return one.standing == Standing::within_limits ? static_cast<int>(row) + 1 : 0;
}

}  // namespace

void AdviceModel::set_advice(std::optional<report::Answer> advice) {
  beginResetModel();
  advice_ = std::move(advice);
  endResetModel();
}

int AdviceModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() || !advice_) return 0;
  return static_cast<int>(advice_->contenders.size() + advice_->notes.size());
}

QVariant AdviceModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto row = static_cast<std::size_t>(index.row());
  const std::size_t contenders = advice_->contenders.size();
  return row < contenders ? contender_data(row, role) : note_data(row - contenders, role);
}

QVariant AdviceModel::contender_data(std::size_t place, int role) const {
  const Advised& one = advice_->contenders[place];
  switch (role) {
    case Qt::DisplayRole:
      return words(one.sentence);
    case Qt::ToolTipRole:
      return remarks_of(one).join(QLatin1Char('\n'));
    case Qt::AccessibleTextRole:
      return one.standing == Standing::within_limits
                 ? QStringLiteral("%1. %2").arg(place + 1).arg(words(one.sentence))
                 : words(one.sentence);
    case Qt::AccessibleDescriptionRole:
      return remarks_of(one).join(QLatin1Char(' '));
    case place_role:
      return place_of(one, place);
    case style_key_role:
      return words(one.contender);
    case standing_role:
      return static_cast<int>(one.standing);
    case verdict_role:
      return one.to_baseline && !one.is_baseline
                 ? QVariant(static_cast<int>(one.to_baseline->verdict))
                 : QVariant();
    case verdict_words_role:
      return verdict_words(one);
    case baseline_role:
      return one.is_baseline;
    case time_role:
      return one.time_ns ? QVariant(one.time_ns->value / 1e6) : QVariant();
    case interpolated_role:
      return is_carried(one);
    case remarks_role:
      return remarks_of(one);
    case note_role:
      return false;
    default:
      return {};
  }
}

QVariant AdviceModel::note_data(std::size_t place, int role) const {
  if (role == Qt::DisplayRole) return words(advice_->notes[place]);
  if (role == note_role) return true;
  return {};
}

QString AdviceModel::text_of(const QModelIndex& index) const {
  QStringList lines{index.data(Qt::AccessibleTextRole).toString()};
  if (index.data(note_role).toBool()) lines = {index.data().toString()};
  return (lines + index.data(remarks_role).toStringList()).join(QLatin1Char('\n')) +
         QLatin1Char('\n');
}

QModelIndex AdviceModel::index_of(const QString& contender) const {
  if (!advice_) return {};
  const auto& all = advice_->contenders;
  const auto found = std::ranges::find(all, contender.toStdString(), &Advised::contender);
  return found == all.end() ? QModelIndex() : index(static_cast<int>(found - all.begin()));
}

}  // namespace attnscope::gui
