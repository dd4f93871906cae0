#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Two runs compared, cell by cell with verdicts, as a chart and as a table; above them what was not
// alike and how far the machine itself may have moved between them.

#include <QSortFilterProxyModel>
#include <QWidget>

#include "app/gui/models/comparison_model.h"

class QCheckBox;
class QLabel;
class QTableView;
class QToolButton;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class ComparisonView : public QWidget {
  Q_OBJECT
 public:
  explicit ComparisonView(QWidget* parent = nullptr);

  void show_comparison(const ComparisonPointer& comparison);
  [[nodiscard]] const ComparisonModel& model() const { return model_; }
  [[nodiscard]] QTableView* table() const { return table_; }
  [[nodiscard]] QCheckBox* only_differences() const { return only_; }
  [[nodiscard]] QToolButton* back_button() const { return back_; }
  [[nodiscard]] charts::RunChart* chart() const { return chart_; }
  void copy_table(report::TableFormat format);
  [[nodiscard]] bool has_figure() const;
  void export_figure();

 Q_SIGNALS:
  void closed();
  /// The same two, with A and B exchanged.
  void swap_asked(const QString& uuid_a, const QString& uuid_b);
  void succeeded(const QString& sentence);

 private:
  class Filter;
  QWidget* build_top();
  void build_table();

  ComparisonModel model_;
  Filter* filter_;
  QToolButton* back_;
  QToolButton* swap_;
  QLabel* title_;
  QLabel* notes_;
  QCheckBox* only_;
  charts::RunChart* chart_;
  QTableView* table_;
};

}  // namespace attnscope::gui
