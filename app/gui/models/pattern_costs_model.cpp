// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_costs_model.h"

#include <algorithm>

#include "app/gui/session/text.h"
#include "engine/report/table.h"

namespace attnscope::gui {

PatternCostsModel::PatternCostsModel(QObject* parent) : QAbstractTableModel(parent) {}

void PatternCostsModel::show_sides(const Side& a, const std::optional<Side>& b,
                                   const std::optional<MachineCeilings>& machine) {
  beginResetModel();
  a_ = a;
  b_ = b;
  machine_ = machine;
  ids_.clear();
  for (const Side* side : {&a_, b_ ? &*b_ : nullptr}) {
    if (!side) continue;
    for (const ForeseenCost& cost : side->implementations) {
      if (!ids_.contains(cost.id)) ids_.append(cost.id);
    }
  }
  endResetModel();
}

int PatternCostsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : fixed_rows + static_cast<int>(ids_.size());
}

int PatternCostsModel::columnCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  return b_ ? 3 : 1;
}

PatternCostsModel::Value PatternCostsModel::implementation_value(const Side& side,
                                                                 const QString& id) const {
  const auto found = std::ranges::find(side.implementations, id, &ForeseenCost::id);
  const QString none = QStringLiteral("–");
  if (found == side.implementations.end() || !side.counts) return {{}, none, {}};
  if (!found->reason.isEmpty()) return {{}, none, found->reason};
  const double over_useful = side.counts->flop > 0 ? found->executed_flop / side.counts->flop : 0;
  return {found->executed_flop, times_words(over_useful),
          tr("Executes %1 FLOP for %2 useful ones and needs %3 beside inputs and outputs")
              .arg(count_words(found->executed_flop), count_words(side.counts->flop),
                   words(report::format_bytes(found->peak_bytes)))};
}

PatternCostsModel::Value PatternCostsModel::value_of(const Side& side, int row) const {
  if (row >= fixed_rows) return implementation_value(side, ids_.at(row - fixed_rows));
  if (!side.counts) return {{}, QStringLiteral("–"), {}};
  const PatternCounts& counts = *side.counts;
  switch (static_cast<Row>(row)) {
    case tokens:
      return {counts.tokens, count_words(counts.tokens), {}};
    case density:
      return {counts.density,
              QString::number(counts.density * 100, 'g', counts.density < 0.1 ? 2 : 3) +
                  QStringLiteral(" %"),
              {}};
    case pairs:
      return {counts.pairs, count_words(counts.pairs), {}};
    case flop:
      return {counts.flop, count_words(counts.flop), {}};
    case of_full:
      if (!(counts.flop > 0)) return {{}, QStringLiteral("–"), {}};
      return {counts.flop / counts.full_flop,
              QStringLiteral("1 / %1").arg(QString::number(counts.full_flop / counts.flop, 'f', 1)),
              {}};
    case exponentials:
      return {counts.exponentials, count_words(counts.exponentials), {}};
    case bytes:
      return {counts.bytes, words(report::format_bytes(counts.bytes)), {}};
    case limit: {
      if (!machine_) return {{}, QStringLiteral("–"), {}};
      const PatternLimit least = limit_of(counts, *machine_);
      return {least.ms, QString::number(least.ms, 'g', 3) + QStringLiteral(" ms"),
              tr("Bound by %1; rates of %2").arg(least.by, machine_->from)};
    }
    case fixed_rows:
      break;
  }
  return {};
}

QString PatternCostsModel::row_title(int row) const {
  switch (static_cast<Row>(row)) {
    case tokens:
      return tr("Tokens");
    case density:
      return tr("… of all pairs");
    case pairs:
      return tr("Allowed pairs");
    case flop:
      return tr("Useful FLOP");
    case of_full:
      return tr("… of full attention");
    case exponentials:
      return tr("Exponentials");
    case bytes:
      return tr("Least bytes");
    case limit:
      return tr("Limit here");
    case fixed_rows:
      break;
  }
  return tr("%1 over useful").arg(ids_.value(row - fixed_rows));
}

QString PatternCostsModel::row_note(int row) const {
  switch (static_cast<Row>(row)) {
    case tokens:
      return tr("[CLS], query and documents of one item");
    case density:
      return tr("Allowed pairs of all pairs");
    case pairs:
      return tr("Allowed pairs of one head");
    case flop:
      return tr("Two products over all heads: 4 · head dimension a pair");
    case of_full:
      return tr("Share of full attention's FLOP");
    case exponentials:
      return tr("One a pair and head, in the softmax");
    case bytes:
      return tr("float32 q, k, v read once and o written once");
    case limit:
      return machine_
                 ? tr("No forward call can be faster on this machine; rates of %1")
                       .arg(machine_->from)
                 : tr("A run measures what this machine can reach: start one to see the limit");
    case fixed_rows:
      break;
  }
  return tr("FLOP that the implementation executes by its own account, over the useful ones");
}

QVariant PatternCostsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
  }
  const Value a = value_of(a_, index.row());
  Value shown = a;
  if (index.column() != a_column) {
    const Value b = value_of(*b_, index.row());
    shown = b;
    if (index.column() == ratio_column) {
      shown = {{}, QStringLiteral("–"), tr("A over B")};
      if (a.number && b.number && *b.number > 0) shown.text = times_words(*a.number / *b.number);
    }
  }
  switch (role) {
    case Qt::DisplayRole:
      return shown.text;
    case Qt::ToolTipRole:
      return shown.note.isEmpty() ? row_note(index.row()) : shown.note;
    case Qt::AccessibleTextRole:
      return QStringLiteral("%1, %2: %3")
          .arg(row_title(index.row()),
               headerData(index.column(), Qt::Horizontal, Qt::DisplayRole).toString(), shown.text);
    default:
      return {};
  }
}

QVariant PatternCostsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical) {
    if (section < 0 || section >= rowCount()) return {};
    if (role == Qt::DisplayRole) return row_title(section);
    return role == Qt::ToolTipRole ? row_note(section) : QVariant();
  }
  if (section < 0 || section >= columnCount()) return {};
  if (role == Qt::DisplayRole) {
    if (section == ratio_column) return tr("A / B");
    return section == a_column ? tr("A") : tr("B");
  }
  if (role == Qt::ToolTipRole && section != ratio_column) {
    return section == a_column ? a_.title : b_->title;
  }
  return {};
}

}  // namespace attnscope::gui
