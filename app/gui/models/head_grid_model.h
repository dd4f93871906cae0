#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heads of a dump, a layer a row, with a small map of each as it is computed.

#include <QAbstractTableModel>
#include <QImage>
#include <memory>
#include <vector>

#include "engine/inspect/dump.h"

namespace attnscope::gui {

class HeadGridModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// Without pictures; they arrive by set_picture.
  void set_dump(const std::shared_ptr<const Dump>& dump);
  /// `note` says where the head's mass goes.
  void set_picture(int layer, int head, const QImage& picture, const QString& note);
  /// "layer 3, head 1", as the model numbers them from 0.
  [[nodiscard]] QString name_of(int layer, int head) const;
  [[nodiscard]] int pictures() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Picture {
    QImage image;
    QString note;
  };
  [[nodiscard]] std::size_t at(int layer, int head) const {
    return static_cast<std::size_t>(layer) * static_cast<std::size_t>(heads_) +
           static_cast<std::size_t>(head);
  }
  std::vector<std::int64_t> layers_;
  int heads_ = 0;
  std::vector<Picture> pictures_;
};

}  // namespace attnscope::gui
