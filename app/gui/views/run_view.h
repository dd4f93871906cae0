#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One run: time beside memory or executed work, the table beneath, and what is done with them.

#include <QSortFilterProxyModel>
#include <QWidget>

#include "app/gui/models/cell_table_model.h"
#include "app/gui/session/snapshot.h"

class QComboBox;
class QLabel;
class QSplitter;
class QTableView;
class QPushButton;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class CellDelegate;

class RunView : public QWidget {
  Q_OBJECT
 public:
  explicit RunView(QWidget* parent = nullptr);

  /// Wants the run with the axes and the baseline chosen here.
  void choose_run(const QString& uuid);
  void show_run(const RunPointer& run);
  [[nodiscard]] const RunPointer& run() const { return table_model_.run(); }

  void set_preferred_baseline(const QString& contender);
  [[nodiscard]] const QString& preferred_baseline() const { return baseline_preference_; }

  [[nodiscard]] charts::RunChart* time_chart() const { return time_; }
  /// Memory, or what else is chosen to stand beside the time.
  [[nodiscard]] charts::RunChart* second_chart() const { return second_; }
  [[nodiscard]] QTableView* table() const { return table_; }

  void copy_table(report::TableFormat format);
  void export_table(report::TableFormat format);
  void export_figure(report::YAxis y, const QString& name, const QString& extension);

 Q_SIGNALS:
  void run_wanted(const attnscope::gui::RunRequest& request);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  QWidget* build_top_bar();
  QWidget* build_charts();
  QWidget* build_lower_half();
  QWidget* build_table();
  void fill_menus();
  void ask();
  void show_pickers(const RunSnapshot& run);
  void show_figures(const RunSnapshot& run);
  void show_answers(const RunSnapshot& run);

  QLabel* title_;
  QLabel* detail_;
  QComboBox* baseline_;
  QComboBox* x_axis_;
  QComboBox* second_y_;
  QComboBox* slice_;
  QPushButton* copy_;
  QPushButton* export_;
  charts::RunChart* time_;
  charts::RunChart* second_;
  QLabel* answers_;
  QTableView* table_;
  CellDelegate* delegate_;
  CellTableModel table_model_;
  QSortFilterProxyModel proxy_;

  QString uuid_;
  QString baseline_preference_;
  bool no_baseline_ = false;  // the person chose none
  int slice_wanted_ = 0;
};

}  // namespace attnscope::gui
