#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// ChartDrawing: a figure's plot laid out in a rectangle of a page, and painted; what stands around
// it, for one figure or several, is the page's (chart_page.h). Axes and lines are Qt Charts'; the
// words around them, interval bars, ceilings and the rail are painted here.
//
// All lengths follow from `em`, the font's size in the painter's unit, so a page may be measured in
// screen pixels or in fractions of a point.

#include <QPainter>
#include <QPolygonF>
#include <QRectF>
#include <QString>
#include <QTransform>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/gui/charts/axis_scale.h"
#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/contender_style.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

inline constexpr double hair_width = 0.06;  // em

struct DrawnPoint {
  int series = 0;
  QPointF position;
  QString text;            // contender, x, value and interval, or the reason of a rail mark
  std::int64_t cell = -1;  // its number in the run; -1: of no run
  QString mark = {};       // stands beside it: "†"; of bars in it, where there is room
};

struct DrawnSeries {
  std::string key;
  ContenderStyle style;
  bool visible = true;
  std::vector<QPolygonF> lines;   // split where a value is missing
  std::vector<QLineF> intervals;  // cut where they leave the axis, and beside others at their place
  std::vector<QPolygonF> arrows;  // the heads at those ends
  std::vector<DrawnPoint> points;  // of bars: the middle of each piece
  std::vector<DrawnPoint> rail;
  std::vector<double> bars;  // of bars: the length of its piece at each name, along the y axis
};

struct RailLane {
  int series = 0;
  QString label;  // "oom", or "failed" where several things went wrong
  double y = 0;
};

/// A line from the bottom of the plot to its top, with words beside it where there is room.
struct DrawnMark {
  QLineF line;
  QString text;
  QRectF text_rect;  // empty: no room
  ContenderStyle style;
};

/// A ceiling of the roofline with its words along it.
struct DrawnCeiling {
  QString text;
  std::vector<QPolygonF> lines;
  QPointF text_start;     // the words' baseline begins here
  double text_angle = 0;  // degrees, as QPainter::rotate wants them
  bool has_text = false;  // false: no room

  [[nodiscard]] QLineF whole() const { return {lines.front().first(), lines.back().last()}; }
};

/// How all charts of a page are drawn.
struct ChartLook {
  double em = 12;
  ChartTheme theme = ChartTheme::light;
  bool title = true;
  bool intervals = true;
  bool marks = true;
  QString placeholder = QStringLiteral("No values yet");
  std::set<std::string> hidden = {};  // style keys
  AxisRanges ranges = {};  // parts of the axes, as after zooming; what lies outside is not drawn
  // Further values that the axes reach: those of the panels beside this one.
  std::vector<double> shared_x = {}, shared_y = {};
};

class ChartDrawing {
 public:
  /// Without a height it is measured, not drawn: nothing is placed in the plot. Positions are those
  /// of the page that `rect` is a part of.
  ChartDrawing(const report::Figure& figure, ContenderStyles& styles, ChartLook look, QRectF rect);

  /// On the application's thread.
  void paint(QPainter& painter) const;

  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] const std::vector<DrawnSeries>& series() const { return series_; }
  [[nodiscard]] const std::vector<RailLane>& rail_lanes() const { return rail_lanes_; }
  [[nodiscard]] const AxisScale& x_axis() const { return x_axis_; }
  [[nodiscard]] const AxisScale& y_axis() const { return y_axis_; }
  /// The axes that show every value, of which the look's ranges are parts.
  [[nodiscard]] AxisRange whole_x() const { return whole_x_; }
  [[nodiscard]] AxisRange whole_y() const { return whole_y_; }
  /// Where the figure's line to read against lies; none where the axis cannot show it.
  [[nodiscard]] std::optional<double> line_at() const { return line_at_; }
  [[nodiscard]] const std::vector<DrawnMark>& marks() const { return marks_; }
  [[nodiscard]] const std::vector<DrawnCeiling>& ceilings() const { return ceilings_; }
  /// The figure's front, cut where it leaves the plot.
  [[nodiscard]] const std::vector<QPolygonF>& front() const { return front_; }
  [[nodiscard]] const QString& y_label() const { return y_label_; }
  [[nodiscard]] const QRectF& plot() const { return plot_; }
  [[nodiscard]] const QRectF& rect() const { return rect_; }
  /// How many values the axes cannot show (zero on a log axis, NaN), and other cells that lack.
  [[nodiscard]] const QString& note() const { return note_; }
  /// What stands in the plot when it has no values: the placeholder, or where cells were measured
  /// in vain that, with the reason where all have the same. Empty: it has some.
  [[nodiscard]] QString instead_of_values() const {
    return empty_ ? look_.placeholder : without_values_;
  }

  /// Height of everything but the plot itself, and the least height that leaves a readable plot.
  [[nodiscard]] double height_around_plot() const { return height_around_plot_; }
  [[nodiscard]] double least_height() const;

  /// The drawn value or rail mark of a visible series nearest to `position`, within `radius`.
  [[nodiscard]] const DrawnPoint* nearest(QPointF position, double radius) const;
  /// Its values and rail marks of one series, from left to right; none while it is hidden.
  [[nodiscard]] std::vector<const DrawnPoint*> stops_of(const std::string& key) const;
  /// The ceiling whose line passes within `radius` of `position`.
  [[nodiscard]] const DrawnCeiling* ceiling_at(QPointF position, double radius) const;

 private:
  void collect_axes(const report::Figure& figure);
  /// The part of the axis that the look has of it.
  void show_part(AxisScale& axis, ScaleKind kind, const std::string& label) const;
  void lay_out(const report::Figure& figure);
  void place_series(const report::Figure& figure);
  void place_bars(const report::Figure& figure);
  void place_interval(DrawnSeries& drawn, const report::Point& point) const;
  void part_intervals();
  void place_rail(const report::Figure& figure);
  void place_front(const report::Figure& figure);
  void place_marks(const report::Figure& figure);
  void place_ceilings(const report::Figure& figure);
  void place_words(DrawnCeiling& ceiling, std::vector<QPolygonF>& taken) const;
  /// Whether a value's marker lies on words in the box, which `to_page` places.
  [[nodiscard]] bool covers_marker(const QRectF& box, const QTransform& to_page) const;
  [[nodiscard]] QPointF place(double x, double y) const;
  [[nodiscard]] bool is_shown_along_x(double x) const;
  void note_left_out(const report::Figure& figure, int left_out);
  [[nodiscard]] double y_label_width() const;

  void paint_plot(QPainter& painter) const;
  // Its layers, between those of Qt Charts.
  void paint_minor_grid(QPainter& painter) const;
  void paint_below_lines(QPainter& painter) const;
  void paint_markers(QPainter& painter) const;
  void paint_marks_of_bars(QPainter& painter) const;
  void paint_names(QPainter& painter) const;
  void paint_rail(QPainter& painter) const;
  void paint_ceilings(QPainter& painter) const;
  void paint_marks(QPainter& painter) const;
  void paint_intervals(QPainter& painter, const DrawnSeries& series) const;

  ChartLook look_;
  QRectF rect_;
  QString title_, x_label_, y_label_, note_, without_values_;
  bool empty_ = true;
  bool has_bars_ = false;  // at names along x, which do not zoom
  bool has_markers_ = true;
  bool has_upright_names_ = false;  // where they have no room side by side
  AxisScale x_axis_, y_axis_;
  AxisRange whole_x_, whole_y_;
  std::optional<double> line_at_;
  QRectF plot_, rail_rect_, title_rect_, y_label_rect_, note_rect_;
  double height_around_plot_ = 0;
  std::vector<DrawnSeries> series_;
  std::vector<RailLane> rail_lanes_;
  std::vector<DrawnMark> marks_;
  std::vector<DrawnCeiling> ceilings_;
  std::vector<QPolygonF> front_;
};

}  // namespace attnscope::charts
