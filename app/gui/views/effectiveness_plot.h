#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Shown next to an answer: the cost of each contender against its effectiveness, as measured with
// the run or else as published in the paper, one point per contender, and the number of contenders
// without a point.

#include <QWidget>
#include <string>
#include <vector>

#include "engine/report/advice.h"

class QLabel;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class EffectivenessPlot : public QWidget {
  Q_OBJECT
 public:
  explicit EffectivenessPlot(QWidget* parent = nullptr);

  /// Ids of all the run's contenders, which determine their styles.
  void set_contenders(const std::vector<std::string>& ids);
  void show_advice(const report::Advice& advice);
  void clear();

  [[nodiscard]] charts::RunChart* chart() const { return chart_; }

 Q_SIGNALS:
  void succeeded(const QString& sentence);

 private:
  charts::RunChart* chart_;
  QLabel* absent_;
};

}  // namespace attnscope::gui
