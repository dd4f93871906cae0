#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Beside an answer: what each contender takes here against what it is worth, as measured with the
// run or else as the paper published it, one point a contender, and how many that leaves out.

#include <QWidget>
#include <string>
#include <vector>

#include "engine/report/answer.h"

class QLabel;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class EffectivenessPlot : public QWidget {
  Q_OBJECT
 public:
  explicit EffectivenessPlot(QWidget* parent = nullptr);

  /// Ids of all the run's contenders, which decide how each is drawn.
  void set_contenders(const std::vector<std::string>& ids);
  void show_advice(const report::Answer& advice);
  void clear();

  [[nodiscard]] charts::RunChart* chart() const { return chart_; }

 Q_SIGNALS:
  void succeeded(const QString& sentence);

 private:
  charts::RunChart* chart_;
  QLabel* absent_;
};

}  // namespace attnscope::gui
