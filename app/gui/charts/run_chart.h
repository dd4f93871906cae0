#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// RunChart shows one or several figures of a run in a grid, as one page, the same that is exported.
// Actions in one panel apply to all panels whose axes have the same meaning.
//
//   auto* chart = new RunChart(this);
//   chart->set_contenders(ids_of_all_contenders_of_the_run);
//   chart->set_figure(figure);           // again whenever a heat has finished; or set_facets
//   connect(chart, &RunChart::export_wanted, ...);   // printable(chart->shown_facets())
//
// Mouse: hover shows the nearest value; a click on a legend entry hides or shows its series; the
// wheel zooms about the cursor (next to an axis, only along that axis), a drag moves the zoomed
// plot, Shift+drag frames the area to zoom into; a double click resets.
// Keyboard: Up and Down select a series, Left and Right move along its values through all panels,
// Space hides or shows it, Escape deselects; + and - zoom, Ctrl with arrows moves, 0 resets; T
// opens the numbers as a table, Ctrl+C copies them, I and X switch interval bars and crossovers, E
// exports; the context menu has all of them.

#include <QKeySequence>
#include <QList>
#include <QPixmap>
#include <QPointF>
#include <QPointer>
#include <QString>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/drawing/chart_page.h"
#include "engine/report/figure.h"

class QAction;
class QMenu;

namespace attnscope::charts {

class FigureTable;

inline constexpr double hover_radius = 2;  // em

using OptionalRange = std::optional<AxisRange>;
using OptionalScale = std::optional<report::Scale>;

class RunChart : public QWidget {
  Q_OBJECT
 public:
  explicit RunChart(QWidget* parent = nullptr);
  ~RunChart() override;

  /// Keeps the hidden series (by style key) and the zoom and scale of each axis (by axis label).
  /// `placeholders`: texts of panels without values; for an empty one, the text of
  /// set_placeholder() is used.
  void set_facets(const report::Facets& facets, std::vector<QString> placeholders = {});
  void set_figure(const report::Figure& figure) { set_facets(facets_of(figure)); }
  [[nodiscard]] const report::Facets& facets() const { return facets_; }
  /// As given; empty if there is no such panel.
  [[nodiscard]] const report::Figure& figure(std::size_t panel = 0) const;
  /// Every contender of the run, whether this figure shows it or not (see ContenderStyles).
  void set_contenders(const std::vector<std::string>& ids);
  /// Shown while there is nothing to draw.
  void set_placeholder(const QString& text);
  /// The title above all panels; each panel always has its own.
  void set_title_shown(bool shown);
  void set_legend_shown(bool shown);

  // The last used panel's. Nothing: the figure's own scale, the whole axis.
  [[nodiscard]] OptionalScale x_scale() const;
  [[nodiscard]] OptionalScale y_scale() const;
  [[nodiscard]] OptionalRange x_range() const;
  [[nodiscard]] OptionalRange y_range() const;
  [[nodiscard]] bool is_zoomed() const { return !ranges_.empty(); }

  /// The drawn facets, for export: without hidden series, on the scales selected here.
  [[nodiscard]] report::Facets shown_facets() const;
  /// The selections made here that a file can repeat: intervals, crossovers, ranges, contenders.
  [[nodiscard]] FigureOptions shown_options() const;

  /// The drawn page: texts, positions, ticks.
  [[nodiscard]] const ChartPage& page() const;
  [[nodiscard]] const ChartDrawing& drawing(std::size_t panel = 0) const {
    return page().panels()[panel];
  }
  /// The text that hovering at `position` shows, for a value or for coinciding curves; empty if
  /// nothing is near.
  [[nodiscard]] QString value_at(QPointF position) const;
  /// The text of the value selected by keyboard; empty without one.
  [[nodiscard]] QString current_value() const;

  /// Builds a new context menu.
  [[nodiscard]] QMenu* make_menu();
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void set_y_range(attnscope::charts::OptionalRange range);
  /// Resets all axes to the figure's own ranges.
  void reset_zoom();

 Q_SIGNALS:
  /// The user clicked a value or pressed Return on it. `cell`: the number of its cell in the run.
  void cell_chosen(qint64 cell);
  void export_wanted();
  /// The drawn content has changed.
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
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  enum class Drag { none, frame, move };
  enum class Axes { both, x, y };
  /// A keyboard command; commands that are also in the menu have an action.
  struct Command {
    QList<QKeySequence> keys;
    std::function<bool()> can;
    std::function<void()> act;
    QAction* action = nullptr;
    const bool* is_on = nullptr;  // state of a switch
  };
  void invalidate();
  void scale_figures();
  void set_current(std::optional<DrawnPoint> point);
  void step_series(int direction);
  void step_point(int direction);
  void toggle(int series);
  void choose_or_toggle();
  void deselect();
  void describe();
  void build_commands();
  [[nodiscard]] QAction* action_named(const char* name) const;
  [[nodiscard]] const Command* command_of(const QKeyEvent& event) const;
  /// Zooms the last used panel by a factor (> 1: in), about a position on it (default: the plot's
  /// centre).
  void zoom(double factor, std::optional<QPointF> about = {}, Axes axes = Axes::both);
  /// Moves by fractions of the plot's width and height.
  void move_view(double right, double up);
  void zoom_into(const QRectF& frame);
  /// Sets ranges of the current axes; nothing: that axis is unchanged.
  void show_parts(OptionalRange right, OptionalRange up);
  void copy_numbers() const;
  void show_table();
  void add_scale_menu(QMenu& menu, const QString& title, bool along_x);
  void update_cursor(QPointF position);
  /// Whether the last used panel has a plot.
  [[nodiscard]] bool has_plot() const { return !active().empty(); }
  [[nodiscard]] const ChartDrawing& active() const { return drawing(panel_); }

  report::Facets facets_;               // as given
  std::vector<report::Figure> scaled_;  // on the scales selected here
  std::vector<QString> placeholders_;
  ContenderStyles styles_;
  std::vector<std::string> contenders_;
  std::set<std::string> hidden_;
  QString placeholder_;
  bool title_ = true, legend_ = true, intervals_ = true, crossovers_ = true;
  std::map<std::string, report::Scale> scales_;  // by axis label
  AxisRanges ranges_;
  std::size_t panel_ = 0;              // last used with mouse or keyboard
  std::optional<DrawnPoint> current_;  // under the cursor or selected by keyboard
  int keyboard_series_ = -1;           // index in the legend
  Drag drag_ = Drag::none;
  QPointF drag_start_, drag_now_;
  std::vector<Command> commands_;
  QPointer<FigureTable> table_;
  mutable std::unique_ptr<ChartPage> page_;  // rebuilt when figures, size or theme change
  QPixmap picture_;  // the page without the highlights that follow the cursor
  int pictured_series_ = -1;
};

}  // namespace attnscope::charts
