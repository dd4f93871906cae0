#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// RunChart shows one report::Figure: lines with markers and interval bars, a rail at the top for
// `oom` and failed cells, ceilings, crossovers, and its own legend. It is the same drawing as an
// exported figure.
//
//   auto* chart = new RunChart(this);
//   chart->set_contenders(ids_of_all_contenders_of_the_run);
//   chart->set_figure(figure);           // again whenever a heat has finished
//   link_charts(*chart, *other_chart);   // hide the same series, zoom along x together
//   connect(chart, &RunChart::export_wanted, ...);
//
// Mouse: hover shows the nearest value; a click on a legend entry hides or shows its series; the
// wheel zooms about the cursor (beside an axis along that axis alone), a drag zooms into what it
// frames, a drag with the middle button or with Space held moves, a double click resets.
// Keyboard: Up and Down choose a series, Left and Right walk along its values, Space hides or shows
// it, Escape lets go; + and - zoom, Ctrl with arrows moves, 0 resets; T opens the numbers as a
// table, Ctrl+C copies them, I and X switch interval bars and crossovers, E exports, Menu has it
// all.

#include <QPointF>
#include <QPointer>
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
#include "app/gui/charts/figure_options.h"
#include "engine/report/figure.h"

class QDialog;
class QMenu;

namespace attnscope::charts {

inline constexpr double hover_radius = 2;  // em

using OptionalRange = std::optional<AxisRange>;
using OptionalScale = std::optional<report::Scale>;

class RunChart : public QWidget {
  Q_OBJECT
 public:
  explicit RunChart(QWidget* parent = nullptr);
  ~RunChart() override;

  /// Keeps which series are hidden, by style key, and the zoom while the axes mean the same.
  void set_figure(const report::Figure& figure);
  [[nodiscard]] const report::Figure& figure() const { return figure_; }
  /// Every contender of the run, whether this figure shows it or not (see ContenderStyles).
  void set_contenders(const std::vector<std::string>& ids);
  /// Shown while the figure has nothing to draw.
  void set_placeholder(const QString& text);
  /// Without a call the chart follows the palette's lightness.
  void set_theme(ChartTheme theme);
  [[nodiscard]] ChartTheme theme() const;

  // Which parts of the drawing are there; all of them unless said otherwise. Without its plot a
  // chart is a legend.
  void set_title_shown(bool shown);
  void set_legend_shown(bool shown);
  void set_plot_shown(bool shown);
  /// Further values that the axes reach: those of the panels beside this one.
  void set_shared_values(std::vector<double> xs, std::vector<double> ys);

  [[nodiscard]] bool is_series_visible(const QString& style_key) const;
  [[nodiscard]] bool are_intervals_shown() const { return intervals_; }
  [[nodiscard]] bool are_crossovers_shown() const { return crossovers_; }
  /// Nothing: the figure's own scale.
  [[nodiscard]] OptionalScale x_scale() const { return x_scale_; }
  [[nodiscard]] OptionalScale y_scale() const { return y_scale_; }
  /// Nothing: the whole axis.
  [[nodiscard]] OptionalRange x_range() const { return x_range_; }
  [[nodiscard]] OptionalRange y_range() const { return y_range_; }
  [[nodiscard]] bool is_zoomed() const { return x_range_ || y_range_; }

  /// What is drawn now, for export: without hidden series, on the scales chosen here.
  [[nodiscard]] report::Figure shown_figure() const;
  /// The choices made here that a file can repeat: intervals, crossovers, ranges, contenders.
  [[nodiscard]] FigureOptions shown_options() const;

  /// What is drawn now: texts, positions, ticks.
  [[nodiscard]] const ChartDrawing& drawing() const;
  /// The text that hovering at `position` shows; empty when nothing is near.
  [[nodiscard]] QString value_at(QPointF position) const;
  /// The text of the value the keyboard stands on; empty without one.
  [[nodiscard]] QString current_value() const;

  /// The context menu, anew.
  [[nodiscard]] QMenu* make_menu();
  /// The table behind the chart while it is open.
  [[nodiscard]] QDialog* table_window() const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void set_series_visible(const QString& style_key, bool visible);
  void set_intervals_shown(bool shown);
  void set_crossovers_shown(bool shown);
  void set_x_scale(attnscope::charts::OptionalScale scale);
  void set_y_scale(attnscope::charts::OptionalScale scale);
  void set_x_range(attnscope::charts::OptionalRange range);
  void set_y_range(attnscope::charts::OptionalRange range);
  /// By a factor above 1 into the chart, about a position on it (without one: the plot's middle).
  void zoom(double factor, std::optional<QPointF> about = {});
  /// By parts of the plot's width and height.
  void move_view(double right, double up);
  void reset_zoom();
  void copy_numbers() const;
  void show_table();

 Q_SIGNALS:
  /// The user hid or showed a series here.
  void series_toggled(const QString& style_key, bool visible);
  /// The user clicked a value or pressed Return on it; its cell's number in the run.
  void cell_chosen(qint64 cell);
  /// The user zoomed, moved or reset here.
  void x_range_chosen(attnscope::charts::OptionalRange range);
  void y_range_chosen(attnscope::charts::OptionalRange range);
  /// The user chose in the menu or by its key.
  void x_scale_chosen(attnscope::charts::OptionalScale scale);
  void intervals_chosen(bool shown);
  void crossovers_chosen(bool shown);
  void export_wanted();
  /// What is drawn has changed.
  void changed();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  enum class Drag { none, frame, move };
  enum class Axes { both, x, y };
  void invalidate();
  void scale_figure();
  void set_current(std::optional<DrawnPoint> point);
  void step_series(int direction);
  void step_point(int direction);
  void toggle(const std::string& style_key);
  void toggle_keyboard_series();
  void describe();
  [[nodiscard]] bool press_view_key(const QKeyEvent& event);
  [[nodiscard]] bool press_tool_key(const QKeyEvent& event);
  void zoom_axes(double factor, QPointF about, Axes axes);
  void zoom_into(const QRectF& frame);
  void choose_ranges(OptionalRange x, OptionalRange y);
  void choose_intervals(bool shown);
  void choose_crossovers(bool shown);
  void add_scale_menu(QMenu& menu, const QString& title, bool along_x);
  void update_cursor(QPointF position);
  [[nodiscard]] bool has_plot() const;

  report::Figure figure_;  // as given
  report::Figure scaled_;  // on the scales chosen here
  ContenderStyles styles_;
  std::vector<std::string> contenders_;
  std::set<std::string> hidden_;
  std::optional<ChartTheme> theme_;
  QString placeholder_;
  bool title_ = true, legend_ = true, plot_ = true, intervals_ = true, crossovers_ = true;
  OptionalScale x_scale_, y_scale_;
  OptionalRange x_range_, y_range_;
  std::vector<double> shared_x_, shared_y_;
  std::optional<DrawnPoint> current_;  // under the cursor or chosen by keyboard
  int keyboard_series_ = -1;
  Drag drag_ = Drag::none;
  QPointF drag_start_, drag_now_;
  bool space_held_ = false;
  bool space_moved_ = false;  // since Space went down
  QPointer<QDialog> table_;
  mutable std::unique_ptr<ChartDrawing> drawing_;  // made anew when figure, size or theme change
};

/// Charts of one run beside each other: series are hidden and shown in both, and along an x of the
/// same meaning they zoom and change scale together.
void link_charts(RunChart& first, RunChart& second);

}  // namespace attnscope::charts
