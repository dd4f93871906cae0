// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/head_grid_model.h"

#include <QStringList>
#include <algorithm>

#include "app/gui/charts/heat_colors.h"
#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

/// "query: 61.0 % on document; document: 40.2 % on document".
QString strongest_flows(const HeadSummary& summary) {
  QStringList flows;
  for (const TokenGroup from : token_groups) {
    if (summary.rows[static_cast<std::size_t>(from)] == 0) continue;
    const auto& masses = summary.group_mass[static_cast<std::size_t>(from)];
    const auto to = static_cast<TokenGroup>(std::ranges::max_element(masses) - masses.begin());
    flows.append(QStringLiteral("%1: %2 on %3")
                     .arg(charts::group_title(from), share_words(summary.mass(from, to)),
                          charts::group_title(to)));
  }
  return flows.join(QStringLiteral("; "));
}

}  // namespace

void HeadGridModel::set_dump(const std::shared_ptr<const Dump>& dump) {
  beginResetModel();
  layers_ = dump ? dump->info().layers : std::vector<std::int64_t>();
  heads_ = dump ? dump->info().heads : 0;
  drawn_.assign(layers_.size() * static_cast<std::size_t>(columnCount()), {});
  endResetModel();
}

void HeadGridModel::draw(Head& head) const {
  const charts::HeatScale scale{.logarithmic = true};
  if (head.summary) head.picture = charts::heat_image(head.summary->map, scale, theme_);
}

void HeadGridModel::set_theme(charts::ChartTheme theme) {
  if (theme == theme_) return;
  theme_ = theme;
  for (Head& head : drawn_) draw(head);
  if (!drawn_.empty()) {
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  }
}

void HeadGridModel::set_summary(int layer, int head,
                                const std::shared_ptr<const HeadSummary>& summary) {
  Head& drawn = drawn_.at(at(layer, head));
  drawn.summary = summary;
  draw(drawn);
  const QModelIndex changed = index(layer, head);
  Q_EMIT dataChanged(changed, changed);
}

QString HeadGridModel::name_of(int layer, int head) const {
  const auto number = layers_.at(static_cast<std::size_t>(layer));
  if (head == heads_) {
    return tr("layer %1, mean of %2").arg(number).arg(counted(heads_, tr("head"), tr("heads")));
  }
  return tr("layer %1, head %2").arg(number).arg(head);
}

int HeadGridModel::pictures() const {
  return static_cast<int>(
      std::ranges::count_if(drawn_, [](const Head& head) { return !head.picture.isNull(); }));
}

int HeadGridModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(layers_.size());
}

int HeadGridModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : heads_ + (heads_ > 1 ? 1 : 0);
}

QVariant HeadGridModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Head& head = drawn_[at(index.row(), index.column())];
  const QString name = name_of(index.row(), index.column());
  switch (role) {
    case Qt::DecorationRole:
      return head.picture.isNull() ? QVariant() : head.picture;
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
      return head.summary ? tr("%1: %2").arg(name, strongest_flows(*head.summary)) : name;
    default:
      return {};
  }
}

QVariant HeadGridModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const bool down = orientation == Qt::Vertical;
  if (section < 0 || section >= (down ? rowCount() : columnCount())) return {};
  const auto number = down ? layers_[static_cast<std::size_t>(section)] : section;
  const bool mean = !down && section == heads_;
  if (role == Qt::DisplayRole) return mean ? QStringLiteral("μ") : QString::number(number);
  if (role != Qt::ToolTipRole) return {};
  if (mean) return tr("The mean of the layer's heads");
  return down ? tr("Layer %1").arg(number) : tr("Head %1").arg(number);
}

}  // namespace attnscope::gui
