#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// RunChart shows one report::Figure: lines with markers and interval bars, a rail at the top for
// `oom` and failed cells, and its own legend. It is the same drawing as an exported figure.
//
//   auto* chart = new RunChart(this);
//   chart->set_contenders(ids_of_all_contenders_of_the_run);
//   chart->set_figure(figure);           // again whenever a heat has finished
//   connect(chart, &RunChart::series_toggled, other_chart, &RunChart::set_series_visible);
//
// Mouse: hover shows the nearest value; a click on a legend entry hides or shows its series.
// Keyboard: Up and Down choose a series, Left and Right walk along its values, Space hides or shows
// it, Escape lets go.

#include <QPointF>
#include <QString>
#include <QWidget>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/contender_style.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

class RunChart : public QWidget {
  Q_OBJECT
 public:
  explicit RunChart(QWidget* parent = nullptr);
  ~RunChart() override;

  /// Keeps which series are hidden, by style key.
  void set_figure(const report::Figure& figure);
  [[nodiscard]] const report::Figure& figure() const { return figure_; }
  /// Every contender of the run, whether this figure shows it or not (see ContenderStyles).
  void set_contenders(const std::vector<std::string>& ids);
  /// Shown while the figure has nothing to draw.
  void set_placeholder(const QString& text);
  /// Without a call the chart follows the palette's lightness.
  void set_theme(ChartTheme theme);
  [[nodiscard]] ChartTheme theme() const;

  [[nodiscard]] bool is_series_visible(const QString& style_key) const;

  /// What is drawn now: texts, positions, ticks.
  [[nodiscard]] const ChartDrawing& drawing() const;
  /// The text that hovering at `position` shows; empty when nothing is near.
  [[nodiscard]] QString value_at(QPointF position) const;
  /// The text of the value the keyboard stands on; empty without one.
  [[nodiscard]] QString current_value() const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void set_series_visible(const QString& style_key, bool visible);

 Q_SIGNALS:
  /// The user hid or showed a series here.
  void series_toggled(const QString& style_key, bool visible);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void invalidate();
  void set_current(std::optional<DrawnPoint> point);
  void step_series(int direction);
  void step_point(int direction);
  void toggle(const std::string& style_key);
  void describe();

  report::Figure figure_;
  ContenderStyles styles_;
  std::set<std::string> hidden_;
  std::optional<ChartTheme> theme_;
  QString placeholder_;
  std::optional<DrawnPoint> current_;  // under the cursor or chosen by keyboard
  int keyboard_series_ = -1;
  mutable std::unique_ptr<ChartDrawing> drawing_;  // made anew when figure, size or theme change
};

}  // namespace attnscope::charts
