#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Under a run: the paper's times and memory next to ours, or the sentence that says which cells
// there would have to be.

#include <QWidget>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/snapshot.h"
#include "engine/report/published.h"

class QLabel;
class QTableView;

namespace attnscope::gui {

class BesideView : public QWidget {
  Q_OBJECT
 public:
  explicit BesideView(QWidget* parent = nullptr);

  /// Null: no run is shown.
  void show_run(const RunPointer& run);
  [[nodiscard]] const QAbstractItemModel& model() const { return model_; }
  [[nodiscard]] QTableView* table() const { return table_; }

 Q_SIGNALS:
  void close_asked();

 private:
  RunPointer run_;  // owns the rows that the model's point to
  RowsModel<report::BesidePublished> model_;
  QLabel* words_;
  QTableView* table_;
};

}  // namespace attnscope::gui
