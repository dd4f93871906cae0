#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One of the papers' tables as it was published.

#include <QAbstractTableModel>

#include "engine/report/published.h"

namespace attnscope::gui {

class PublishedTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  void set_table(const report::PublishedTable& table);
  [[nodiscard]] const report::PublishedTable& table() const { return table_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  report::PublishedTable table_;
};

}  // namespace attnscope::gui
