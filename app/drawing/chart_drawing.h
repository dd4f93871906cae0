#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// ChartDrawing lays out a figure's plot in a rectangle of a page and paints it; ChartPage
// (chart_page.h) draws the surroundings of one or several plots. Qt Charts draws the axes and
// lines; labels, interval bars, ceilings and the rail are painted here.
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

#include "app/drawing/axis_scale.h"
#include "app/drawing/chart_style.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

inline constexpr double hair_width = 0.06;  // em

struct DrawnPoint {
  int series = 0;
  QPointF position;
  QString text;            // contender, x, value and interval, or the reason of a rail mark
  std::int64_t cell = -1;  // its number in the run; -1: not from a run
  QString mark = {};       // label next to the point: "†"; inside a bar, where there is room
};

struct DrawnSeries {
  std::string key;
  ContenderStyle style;
  bool visible = true;
  std::vector<QPolygonF> lines;    // split where a value is missing
  std::vector<QLineF> intervals;   // cut at the axis ends; shifted sideways where several overlap
  std::vector<QPolygonF> arrows;   // heads at the cut ends
  std::vector<DrawnPoint> points;  // for bars: the middle of each piece
  std::vector<DrawnPoint> rail;
  std::vector<double> bars;  // for bars: the length of the piece at each name, along the y axis
};

struct RailLane {
  int series = 0;
  QString label;  // "oom", or "failed" for several kinds of failure
  double y = 0;
};

/// A vertical line across the plot, labelled where there is room.
struct DrawnMark {
  QLineF line;
  QString text;
  QRectF text_rect;  // empty: no room
  ContenderStyle style;
};

/// A roofline ceiling, labelled along the line.
struct DrawnCeiling {
  QString text;
  std::vector<QPolygonF> lines;
  QPointF text_start;     // start of the text's baseline
  double text_angle = 0;  // degrees, as in QPainter::rotate
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
  AxisRanges ranges = {};  // visible axis ranges, as after zooming; values outside are not drawn
  // Further values that the axes must cover: those of the adjacent panels.
  std::vector<double> shared_x = {}, shared_y = {};
};

class ChartDrawing {
 public:
  /// Without a height it is only measured: nothing is placed in the plot. Positions are in the
  /// coordinates of the page that contains `rect`.
  ChartDrawing(const report::Figure& figure, ContenderStyles& styles, ChartLook look, QRectF rect);

  /// Must be called on the application's thread.
  void paint(QPainter& painter) const;

  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] const std::vector<DrawnSeries>& series() const { return series_; }
  [[nodiscard]] const std::vector<RailLane>& rail_lanes() const { return rail_lanes_; }
  [[nodiscard]] const AxisScale& x_axis() const { return x_axis_; }
  [[nodiscard]] const AxisScale& y_axis() const { return y_axis_; }
  /// The axis ranges that show every value; the look's ranges are parts of them.
  [[nodiscard]] AxisRange whole_x() const { return whole_x_; }
  [[nodiscard]] AxisRange whole_y() const { return whole_y_; }
  /// Value of the figure's reference line; empty if the axis cannot show it.
  [[nodiscard]] std::optional<double> line_at() const { return line_at_; }
  [[nodiscard]] const std::vector<DrawnMark>& marks() const { return marks_; }
  [[nodiscard]] const std::vector<DrawnCeiling>& ceilings() const { return ceilings_; }
  /// The figure's Pareto front, cut at the edges of the plot.
  [[nodiscard]] const std::vector<QPolygonF>& front() const { return front_; }
  [[nodiscard]] const QString& y_label() const { return y_label_; }
  [[nodiscard]] const QRectF& plot() const { return plot_; }
  [[nodiscard]] const QRectF& rect() const { return rect_; }
  /// Counts the values that the axes cannot show (zero on a log axis, NaN) and other missing cells.
  [[nodiscard]] const QString& note() const { return note_; }
  /// Text in a plot without values: the placeholder or, where measurements failed, a sentence that
  /// reports it, with the reason if all cells share it. Empty: the plot has values.
  [[nodiscard]] QString instead_of_values() const {
    return empty_ ? look_.placeholder : without_values_;
  }

  /// Height of everything except the plot, and the smallest height that leaves a readable plot.
  [[nodiscard]] double height_around_plot() const { return height_around_plot_; }
  [[nodiscard]] double least_height() const;

  /// The value or rail mark of a visible series nearest to `position`, within `radius`.
  [[nodiscard]] const DrawnPoint* nearest(QPointF position, double radius) const;
  /// The values and rail marks of a series, from left to right; empty while it is hidden.
  [[nodiscard]] std::vector<const DrawnPoint*> stops_of(const std::string& key) const;
  /// The ceiling whose line passes within `radius` of `position`.
  [[nodiscard]] const DrawnCeiling* ceiling_at(QPointF position, double radius) const;

 private:
  void collect_axes(const report::Figure& figure);
  /// Restricts the axis to its range in the look, if any.
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
  /// Whether a value's marker overlaps text in the box, which `to_page` maps to the page.
  [[nodiscard]] bool covers_marker(const QRectF& box, const QTransform& to_page) const;
  [[nodiscard]] QPointF place(double x, double y) const;
  [[nodiscard]] bool is_shown_along_x(double x) const;
  void note_left_out(const report::Figure& figure, int left_out);
  [[nodiscard]] double y_label_width() const;

  void paint_plot(QPainter& painter) const;
  // Layers between those of Qt Charts.
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
  bool has_bars_ = false;  // at names along x, which does not zoom
  bool has_markers_ = true;
  bool has_upright_names_ = false;  // if they do not fit side by side
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
