// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/head_grid_model.h"

#include <algorithm>

namespace attnscope::gui {

void HeadGridModel::set_dump(const std::shared_ptr<const Dump>& dump) {
  beginResetModel();
  layers_ = dump ? dump->info().layers : std::vector<std::int64_t>();
  heads_ = dump ? dump->info().heads : 0;
  pictures_.assign(layers_.size() * static_cast<std::size_t>(heads_), {});
  endResetModel();
}

void HeadGridModel::set_picture(int layer, int head, const QImage& picture, const QString& note) {
  pictures_.at(at(layer, head)) = {picture, note};
  const QModelIndex changed = index(layer, head);
  Q_EMIT dataChanged(changed, changed);
}

QString HeadGridModel::name_of(int layer, int head) const {
  return tr("layer %1, head %2").arg(layers_.at(static_cast<std::size_t>(layer))).arg(head);
}

int HeadGridModel::pictures() const {
  return static_cast<int>(std::ranges::count_if(
      pictures_, [](const Picture& picture) { return !picture.image.isNull(); }));
}

int HeadGridModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(layers_.size());
}

int HeadGridModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : heads_;
}

QVariant HeadGridModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Picture& picture = pictures_[at(index.row(), index.column())];
  const QString name = name_of(index.row(), index.column());
  switch (role) {
    case Qt::DecorationRole:
      return picture.image.isNull() ? QVariant() : picture.image;
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
      return picture.note.isEmpty() ? name : tr("%1: %2").arg(name, picture.note);
    default:
      return {};
  }
}

QVariant HeadGridModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const bool down = orientation == Qt::Vertical;
  if (section < 0 || section >= (down ? rowCount() : columnCount())) return {};
  const auto number = down ? layers_[static_cast<std::size_t>(section)] : section;
  if (role == Qt::DisplayRole) return QString::number(number);
  if (role == Qt::ToolTipRole) return down ? tr("Layer %1").arg(number) : tr("Head %1").arg(number);
  return {};
}

}  // namespace attnscope::gui
