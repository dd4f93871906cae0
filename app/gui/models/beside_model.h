#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Our cells beside the ECIR 2024 paper's Table 3, where length, window and pattern are the same.
// The paper's are whole cross-encoders on a GPU, so the columns stand side by side and no ratio is
// taken.

#include <QAbstractTableModel>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/report/published.h"

namespace attnscope::gui {

class BesideModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    contender,
    operation,
    tokens,
    own_time,
    their_time,
    own_memory,
    their_memory,
    their_model,
    column_count
  };

  using QAbstractTableModel::QAbstractTableModel;

  /// Null: no run is shown.
  void set_run(const RunPointer& run);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] static QString text(const report::BesidePublished& pair, Column column);

  RunPointer run_;  // owns the rows that pairs_ point to
  std::vector<report::BesidePublished> pairs_;
};

}  // namespace attnscope::gui
