#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Two charts of a run side by side, such as time and memory, and one legend for both. Hiding a
// contender, zooming along x and the choices of the menus reach both.

#include <QWidget>
#include <string>
#include <vector>

#include "app/gui/session/snapshot.h"

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class ChartPane;

class ChartPair : public QWidget {
  Q_OBJECT
 public:
  explicit ChartPair(QWidget* parent = nullptr);

  /// `waiting`: what stands where nothing is measured yet.
  void show_run(const RunSnapshot& run, const QString& waiting);
  /// Every contender of the run, so that all charts draw one alike.
  void set_contenders(const std::vector<std::string>& ids);
  [[nodiscard]] bool has_figure() const;
  /// Opens the dialog for the chart that has the focus, else for the left one.
  void export_figure();

  [[nodiscard]] ChartPane* left() const { return left_; }
  [[nodiscard]] ChartPane* right() const { return right_; }
  /// Of what both show; panels have their own.
  [[nodiscard]] charts::RunChart* legend() const { return legend_; }

 Q_SIGNALS:
  /// Another view was chosen for one of the two; show_run() draws it.
  void view_changed();
  /// A value was clicked; its cell's number in the run.
  void cell_chosen(qint64 cell);
  void succeeded(const QString& sentence);

 private:
  void show_legend();

  ChartPane* left_;
  ChartPane* right_;
  charts::RunChart* legend_;
};

}  // namespace attnscope::gui
