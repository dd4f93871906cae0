// SPDX-License-Identifier: GPL-3.0-or-later
//
// Layout of a plot: axes and texts first, then values, rail, crossovers and the roofline in the
// remaining space. Then painting: Qt Charts draws axes, grid and lines, and its scene contains our
// layers between its own; texts and rail are painted around it.
#include "app/drawing/chart_drawing.h"

#include <QBarSet>
#include <QCategoryAxis>
#include <QChart>
#include <QFontMetricsF>
#include <QGraphicsItem>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QLineSeries>
#include <QStackedBarSeries>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "app/drawing/chart_style.h"
#include "engine/heat/cell.h"

namespace attnscope::charts {
namespace {

// Clips lines to the frame of the plot before painting, because QSvgGenerator does not clip.
// Algorithm of Liang and Barsky: intersects the line's parameter range with all four borders.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& frame) {
  double from = 0, to = 1;
  const auto cut = [&](double step, double room) {  // keeps parameter * step <= room
    if (step < 0) from = std::max(from, room / step);
    if (step > 0) to = std::min(to, room / step);
    if (step == 0 && room < 0) to = -1;
  };
  cut(-line.dx(), line.x1() - frame.left());
  cut(line.dx(), frame.right() - line.x1());
  cut(-line.dy(), line.y1() - frame.top());
  cut(line.dy(), frame.bottom() - line.y1());
  if (from > to) return std::nullopt;
  return QLineF(line.pointAt(from), line.pointAt(to));
}

std::vector<QPolygonF> clipped(const QPolygonF& line, const QRectF& frame) {
  std::vector<QPolygonF> parts;
  bool joined = false;  // the next piece continues the last one
  for (qsizetype i = 0; i + 1 < line.size(); ++i) {
    const QLineF whole(line[i], line[i + 1]);
    const std::optional<QLineF> inside = clipped(whole, frame);
    if (!inside) {
      joined = false;
      continue;
    }
    if (!joined) parts.push_back(QPolygonF{inside->p1()});
    parts.back() << inside->p2();
    joined = inside->p2() == whole.p2();
  }
  return parts;
}

bool is_inside(QPointF point, const QRectF& frame) {
  constexpr double rounding = 1e-6;
  return frame.adjusted(-rounding, -rounding, rounding, rounding).contains(point);
}

constexpr double least_plot_height = 7;  // em
constexpr double bar_width = 0.6;        // of the space per name

double widest(const QFont& font, const std::vector<Tick>& ticks) {
  const QFontMetricsF metrics(font);
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, metrics.horizontalAdvance(tick.label));
  return width;
}

double distance_to(const QLineF& line, QPointF point) {
  const QPointF along = line.p2() - line.p1();
  const double length_squared = QPointF::dotProduct(along, along);
  const double t =
      length_squared == 0
          ? 0
          : std::clamp(QPointF::dotProduct(point - line.p1(), along) / length_squared, 0.0, 1.0);
  const QPointF d = line.p1() + t * along - point;
  return std::hypot(d.x(), d.y());
}

QString status_text(const report::Series& series) {
  const std::string_view first = series.rail.front().word();
  const bool same = std::ranges::all_of(
      series.rail, [first](const report::RailMark& mark) { return mark.word() == first; });
  return same ? QString::fromUtf8(first) : QStringLiteral("no value");
}

QString nothing_measured(const report::Figure& figure) {
  const QString text = QStringLiteral("No cell has a value");
  const std::string* common = nullptr;
  for (const report::Series& series : figure.series) {
    for (const report::RailMark& mark : series.rail) {
      if (common == nullptr) common = &mark.reason;
      if (mark.reason.empty() || mark.reason != *common) return text;
    }
  }
  return common == nullptr ? text : text + QStringLiteral(": ") + QString::fromUtf8(*common);
}

/// Contender, the cell's label (if any) and its x position; for a bar, its name and stage.
QString head_of(const report::Figure& figure, const report::Series& series, double x,
                const std::string& label) {
  QString text = QString::fromUtf8(series.name);
  const QString name = QString::fromUtf8(report::name_on_x(figure, x));
  if (!figure.x_names.empty()) return name + QLatin1Char('\n') + text;
  if (!label.empty()) text += QLatin1Char('\n') + QString::fromUtf8(label);
  return text +
         QStringLiteral("\n%1: %2")
             .arg(QString::fromUtf8(figure.x_label), name.isEmpty() ? number_text(x, 6) : name);
}

QString point_text(const report::Figure& figure, const report::Series& series,
                   const report::Point& point) {
  QString value = number_text(point.y);
  if (point.low < point.high) {
    value += QStringLiteral("  [%1, %2]").arg(number_text(point.low), number_text(point.high));
  }
  return QStringLiteral("%1\n%2: %3")
      .arg(head_of(figure, series, point.x, point.label), QString::fromUtf8(figure.y_label), value);
}

QString rail_text(const report::Figure& figure, const report::Series& series,
                  const report::RailMark& mark) {
  QString text = head_of(figure, series, mark.x, mark.label) + QLatin1Char('\n') +
                 QString::fromUtf8(mark.word());
  if (!mark.reason.empty()) text += QStringLiteral(": ") + QString::fromUtf8(mark.reason);
  return text;
}

constexpr int steps = 64;  // of a slanted line, which is curved unless both axes are logarithmic

/// The ridge is where the flat ceilings begin and the slanted ones end.
struct Ridge {
  double highest_flat = 0;  // 0: none, so that the slanted ones do not end
  double steepest = 0;
};

Ridge ridge_of(const report::Figure& figure) {
  Ridge ridge;
  for (const report::Ceiling& ceiling : figure.ceilings) {
    if (ceiling.per_x) {
      ridge.steepest = std::max(ridge.steepest, ceiling.rate);
    } else {
      ridge.highest_flat = std::max(ridge.highest_flat, ceiling.rate);
    }
  }
  return ridge;
}

constexpr double cap_width = 0.4;  // em

/// The box of a ceiling's text, relative to the start of its baseline; as high as its letters.
QRectF box_of(const DrawnCeiling& ceiling, const QFontMetricsF& metrics) {
  const double height = metrics.capHeight(), below = metrics.descent() / 2;
  return {0, -height, metrics.horizontalAdvance(ceiling.text), height + below};
}

// Qt Charts draws its grid at z = 2, axes at 3 and series from 4 on.
constexpr double below_grid = 1.5, below_series = 3.5, above_series = 9;

/// Paints in the page's units, at its z value among the chart's layers.
class Layer : public QGraphicsItem {
 public:
  using Paint = std::function<void(QPainter&)>;
  Layer(QGraphicsItem* chart, double z, const QRectF& page, double scale, Paint paint)
      : QGraphicsItem(chart), bounds_(page), paint_(std::move(paint)) {
    setZValue(z);
    setScale(scale);
    setPos(-chart->pos());
  }
  [[nodiscard]] QRectF boundingRect() const override { return bounds_; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* /*option*/,
             QWidget* /*widget*/) override {
    painter->save();  // otherwise the painter state would affect the next item
    paint_(*painter);
    painter->restore();
  }

 private:
  QRectF bounds_;
  Paint paint_;
};

/// An axis from 0 to 1 with the scale's ticks at their positions, so that one axis type serves all
/// scales and zooms.
QCategoryAxis* add_axis(QChart& chart, const AxisScale& scale, Qt::Alignment side,
                        const ChartLook& look, double unit) {
  constexpr double rounding = 1e-9;  // a tick at an end is on the axis
  const ThemeColors& colors = colors_of(look.theme);
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  axis->setTruncateLabels(false);
  axis->setLabelsFont(figure_font(look.em * unit));
  axis->setLabelsColor(colors.text);
  axis->setGridLinePen(QPen(colors.grid, hair_width * look.em * unit));
  axis->setLinePen(QPen(colors.axis, 1.3 * hair_width * look.em * unit));
  axis->setLineVisible(side == Qt::AlignBottom);
  axis->setRange(-rounding, 1 + rounding);
  axis->setStartValue(-1);  // its line is outside the range
  QString label;
  for (const Tick& tick : scale.ticks()) {
    // At a deep zoom, two ticks may have the same label, and the axis would drop one of them.
    label = with_minus(tick.label);
    while (axis->categoriesLabels().contains(label)) label += QChar(0x200B);
    axis->append(label, scale.place(tick.value));
  }
  chart.addAxis(axis, side);
  return axis;
}

}  // namespace

ChartDrawing::ChartDrawing(const report::Figure& figure, ContenderStyles& styles, ChartLook look,
                           QRectF rect)
    : look_(std::move(look)),
      rect_(rect),
      title_(QString::fromUtf8(figure.title)),
      x_label_(QString::fromUtf8(figure.x_label)),
      y_label_(QString::fromUtf8(figure.y_label)),
      has_bars_(!figure.x_names.empty()),
      has_markers_(figure.has_markers) {
  for (const report::Series& series : figure.series) {
    DrawnSeries& drawn = series_.emplace_back();
    drawn.key = series.style_key;
    drawn.style = styles.style(series.style_key);
    drawn.visible = !look_.hidden.contains(series.style_key);
    empty_ = empty_ && series.points.empty() && series.rail.empty();
  }
  collect_axes(figure);
  lay_out(figure);
  if (empty_ || rect_.height() == 0) return;
  if (has_bars_) {
    place_bars(figure);
  } else {
    place_series(figure);
    // If ceilings depend on each point's x, a bar shifted sideways would be at another point's x.
    if (std::ranges::none_of(figure.ceilings, &report::Ceiling::per_x)) part_intervals();
  }
  place_rail(figure);
  if (y_axis_.ticks().empty()) return;
  place_front(figure);
  place_marks(figure);
  place_ceilings(figure);
}

void ChartDrawing::collect_axes(const report::Figure& figure) {
  const ScaleKind x_kind = figure.x_scale, y_kind = figure.y_scale;
  const bool any_visible = std::ranges::any_of(series_, &DrawnSeries::visible);
  std::vector<double> xs = look_.shared_x, ys = look_.shared_y;
  int left_out = 0;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const bool counts = series_[s].visible || !any_visible;
    for (const report::Point& point : figure.series[s].points) {
      if (!AxisScale::can_show(x_kind, point.x) || !AxisScale::can_show(y_kind, point.y)) {
        ++left_out;
        continue;
      }
      xs.push_back(point.x);  // hidden series too: x positions do not change
      if (counts && !has_bars_) add_reached(ys, point.y, point.low, point.high);
    }
    for (const report::RailMark& mark : figure.series[s].rail) {
      if (AxisScale::can_show(x_kind, mark.x)) {
        xs.push_back(mark.x);
      } else {
        ++left_out;
      }
    }
  }
  std::ranges::copy(bar_heights(figure, look_.hidden), std::back_inserter(ys));
  // Space to the left of all values for the slanted ceilings and their labels.
  constexpr double room_for_ceilings = 8;
  const bool slanted = std::ranges::any_of(figure.ceilings, &report::Ceiling::per_x);
  if (slanted && !xs.empty()) xs.push_back(std::ranges::min(xs) / room_for_ceilings);
  x_axis_ = has_bars_ ? AxisScale::of_names(figure.x_names) : AxisScale(x_kind, xs);
  if (ys.empty()) {
    without_values_ = nothing_measured(figure);  // and no ticks
  } else {
    if (figure.line_at && AxisScale::can_show(y_kind, *figure.line_at)) {
      line_at_ = figure.line_at;
      ys.push_back(*line_at_);
    }
    for (const report::Ceiling& ceiling : figure.ceilings) {
      if (!ceiling.per_x) ys.push_back(ceiling.rate);
    }
    y_axis_ = AxisScale(y_kind, ys);
  }
  whole_x_ = x_axis_.range();
  whole_y_ = y_axis_.range();
  note_left_out(figure, left_out);
  if (has_bars_) return;
  show_part(x_axis_, x_kind, figure.x_label);
  if (!ys.empty()) show_part(y_axis_, y_kind, figure.y_label);
}

void ChartDrawing::show_part(AxisScale& axis, ScaleKind kind, const std::string& label) const {
  const auto part = look_.ranges.find(label);
  if (part == look_.ranges.end()) return;
  const auto [low, high] = part->second;
  if (AxisScale::can_show(kind, low) && std::isfinite(high) && low < high)
    axis = AxisScale::within(kind, {low, high});
}

void ChartDrawing::note_left_out(const report::Figure& figure, int left_out) {
  QStringList notes;
  const auto add = [&](int count, const QString& one, const QString& several) {
    if (count > 0) notes.append(QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : several));
  };
  add(left_out, QStringLiteral("value that these axes cannot show (zero, infinite or missing)"),
      QStringLiteral("values that these axes cannot show (zero, infinite or missing)"));
  add(figure.without_place, QStringLiteral("cell that has no value on the x axis"),
      QStringLiteral("cells that have no value on the x axis"));
  note_ = notes.join(QStringLiteral("; "));
}

double ChartDrawing::y_label_width() const {
  double width = widest(figure_font(look_.em), y_axis_.ticks());
  const QFontMetricsF metrics(figure_font(look_.em * small_text));
  for (const RailLane& lane : rail_lanes_) {
    width = std::max(width, metrics.horizontalAdvance(lane.label));
  }
  return width;
}

double ChartDrawing::least_height() const {
  return height_around_plot_ + least_plot_height * look_.em;
}

void ChartDrawing::lay_out(const report::Figure& figure) {
  const double em = look_.em, pad = 0.5 * em;
  const double begin = rect_.left() + pad, width = rect_.width() - 2 * pad;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const bool has_rail = std::ranges::any_of(
        figure.series[s].rail, [&](const report::RailMark& m) { return is_shown_along_x(m.x); });
    if (!series_[s].visible || !has_rail) continue;
    rail_lanes_.push_back({static_cast<int>(s), status_text(figure.series[s]), 0});
  }
  double top = rect_.top() + pad;
  const auto below_top = [&](const QString& text, const QFont& font, double gap) {
    const double height = size_of_lines(font, text, width).height();
    const QRectF taken(begin, top, width, height);
    top += height + gap;
    return taken;
  };
  if (look_.title && !title_.isEmpty())
    title_rect_ = below_top(title_, figure_font(em, true), 0.3 * em);
  y_label_rect_ = below_top(y_label_, figure_font(em), 0.6 * em);
  const double lane_height = 1.05 * em, rail_top = top;
  const double rail_height = lane_height * static_cast<double>(rail_lanes_.size());
  if (!rail_lanes_.empty()) top += rail_height + 0.35 * em;

  double bottom = rect_.bottom() - pad;
  if (!note_.isEmpty()) {
    const double height = size_of_lines(figure_font(em * small_text), note_, width).height();
    note_rect_ = QRectF(begin, bottom - height, width, height);
    bottom -= height + 0.3 * em;
  }
  bottom -= 3.1 * em;  // tick labels and the x axis' label
  if (has_bars_) {
    const double names = widest(figure_font(em), x_axis_.ticks());
    const auto count = static_cast<double>(x_axis_.ticks().size());
    has_upright_names_ = names + em > (width - y_label_width() - em) / count;
    constexpr double most = 0.4;  // of the height
    if (has_upright_names_) bottom -= std::min(names, most * rect_.height());
  }

  height_around_plot_ = top - rect_.top() + rect_.bottom() - bottom;
  const double plot_height = std::max(1.0, bottom - top);
  y_axis_.keep_at_most(static_cast<int>(plot_height / (1.5 * em)));
  const double left = begin + y_label_width() + 0.5 * em;
  // The last x label is centred under its tick: half of it may extend beyond the frame.
  const double plot_width = std::max(1.0, rect_.right() - left - pad - 0.6 * em);
  plot_ = QRectF(left, top, plot_width, plot_height);
  rail_rect_ = QRectF(left, rail_top, plot_width, rail_height);
  for (std::size_t i = 0; i < rail_lanes_.size(); ++i)
    rail_lanes_[i].y = rail_top + lane_height * (static_cast<double>(i) + 0.5);
  if (has_bars_) return;
  x_axis_.keep_at_most(
      static_cast<int>(plot_width / (widest(figure_font(em), x_axis_.ticks()) + em)));
  if (figure.infinite_x) {
    x_axis_.name_end(*figure.infinite_x,
                     QString::fromUtf8(report::name_on_x(figure, *figure.infinite_x)));
  }
}

const DrawnPoint* ChartDrawing::nearest(QPointF position, double radius) const {
  const DrawnPoint* best = nullptr;
  double best_distance = radius;
  const auto consider = [&](const DrawnPoint& point) {
    const QPointF d = point.position - position;
    const double distance = std::hypot(d.x(), d.y());
    if (distance > best_distance) return;
    best_distance = distance;
    best = &point;
  };
  for (const DrawnSeries& series : series_) {
    if (!series.visible) continue;
    std::ranges::for_each(series.points, consider);
    std::ranges::for_each(series.rail, consider);
  }
  return best;
}

std::vector<const DrawnPoint*> ChartDrawing::stops_of(const std::string& key) const {
  std::vector<const DrawnPoint*> stops;
  for (const DrawnSeries& series : series_) {
    if (!series.visible || series.key != key) continue;
    for (const auto* points : {&series.points, &series.rail}) {
      for (const DrawnPoint& point : *points) stops.push_back(&point);
    }
  }
  std::ranges::stable_sort(stops, {}, [](const DrawnPoint* stop) { return stop->position.x(); });
  return stops;
}

const DrawnCeiling* ChartDrawing::ceiling_at(QPointF position, double radius) const {
  const DrawnCeiling* best = nullptr;
  double best_distance = radius;
  for (const DrawnCeiling& ceiling : ceilings_) {
    for (const QPolygonF& line : ceiling.lines) {
      for (qsizetype i = 0; i + 1 < line.size(); ++i) {
        const double distance = distance_to(QLineF(line[i], line[i + 1]), position);
        if (distance > best_distance) continue;
        best_distance = distance;
        best = &ceiling;
      }
    }
  }
  return best;
}

QPointF ChartDrawing::place(double x, double y) const {
  return {plot_.left() + x_axis_.place(x) * plot_.width(),
          plot_.bottom() - y_axis_.place(y) * plot_.height()};
}

bool ChartDrawing::is_shown_along_x(double x) const {
  constexpr double rounding = 1e-9;
  if (!AxisScale::can_show(x_axis_.kind(), x)) return false;
  const double place = x_axis_.place(x);
  return place >= -rounding && place <= 1 + rounding;
}

void ChartDrawing::place_series(const report::Figure& figure) {
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const report::Series& series = figure.series[s];
    DrawnSeries& drawn = series_[s];
    QPolygonF line;
    const auto end_line = [&] {
      for (QPolygonF& part : clipped(line, plot_)) drawn.lines.push_back(std::move(part));
      line.clear();
    };
    double previous_x = 0;
    for (const report::Point& point : series.points) {
      if (!AxisScale::can_show(x_axis_.kind(), point.x) ||
          !AxisScale::can_show(y_axis_.kind(), point.y)) {
        end_line();
        continue;
      }
      const bool gap =
          figure.along_x && std::ranges::any_of(series.rail, [&](const report::RailMark& mark) {
            return mark.x > previous_x && mark.x < point.x;
          });
      if (gap) end_line();
      previous_x = point.x;
      const QPointF position = place(point.x, point.y);
      if (figure.is_joined) line << position;
      if (!is_inside(position, plot_)) continue;
      if (look_.intervals && point.low < point.high) place_interval(drawn, point);
      drawn.points.push_back({static_cast<int>(s), position, point_text(figure, series, point),
                              point.cell, QString::fromUtf8(point.mark)});
    }
    end_line();
  }
}

/// Stacks each bar on the previous ones with the same name.
void ChartDrawing::place_bars(const report::Figure& figure) {
  std::vector<double> reached(figure.x_names.size(), 0.0);
  for (std::size_t s = 0; s < series_.size(); ++s) {
    DrawnSeries& drawn = series_[s];
    drawn.bars.resize(reached.size(), 0.0);
    if (!drawn.visible) continue;
    for (const report::Point& point : figure.series[s].points) {
      if (!std::isfinite(point.y)) continue;
      const auto at = static_cast<std::size_t>(point.x);
      drawn.bars[at] = y_axis_.place(point.y);
      const bool has_room = drawn.bars[at] * plot_.height() > 1.1 * look_.em;
      drawn.points.push_back({static_cast<int>(s), place(point.x, reached[at] + point.y / 2),
                              point_text(figure, figure.series[s], point), point.cell,
                              has_room ? QString::fromUtf8(point.mark) : QString()});
      reached[at] += point.y;
    }
  }
}

/// Cut at the end of the axis, with an arrow there.
void ChartDrawing::place_interval(DrawnSeries& drawn, const report::Point& point) const {
  constexpr double rounding = 1e-6;
  const double half = 0.25 * look_.em;
  const bool has_low = AxisScale::can_show(y_axis_.kind(), point.low);
  const QLineF whole(place(point.x, has_low ? point.low : y_axis_.low()),
                     place(point.x, point.high));
  if (const auto interval = clipped(whole, plot_)) drawn.intervals.push_back(*interval);
  const auto add_arrow = [&](double edge, double inward) {
    const double x = whole.x1(), y = edge + inward * 1.5 * half;
    drawn.arrows.push_back(QPolygonF({{x - half, y}, {x, edge}, {x + half, y}}));
  };
  if (whole.y2() < plot_.top() - rounding) add_arrow(plot_.top(), 1);
  if (whole.y1() > plot_.bottom() + rounding || !has_low) add_arrow(plot_.bottom(), -1);
}

// Overlapping interval bars at one x are placed side by side: the first at its x, the next ones
// alternately to the right and left.
void ChartDrawing::part_intervals() {
  const double step = 0.35 * look_.em, gap = 0.1 * look_.em;
  constexpr int most_steps = 6;
  std::vector<QLineF> standing;  // bars already placed
  for (DrawnSeries& series : series_) {
    if (!series.visible) continue;
    for (QLineF& bar : series.intervals) {
      const auto is_free = [&](const QLineF& wanted) {
        return is_inside(wanted.p1(), plot_) &&
               std::ranges::none_of(standing, [&](const QLineF& other) {
                 return std::abs(other.x1() - wanted.x1()) < step / 2 &&
                        other.y2() - gap < wanted.y1() && wanted.y2() - gap < other.y1();
               });
      };
      QLineF placed = bar;
      for (int i = 1; i <= most_steps && !is_free(placed); ++i)
        placed = bar.translated((i % 2 == 1 ? 1.0 : -1.0) * std::ceil(i / 2.0) * step, 0);
      if (!is_free(placed)) placed = bar;
      for (QPolygonF& arrow : series.arrows) {
        if (arrow[1] == bar.p1() || arrow[1] == bar.p2())
          arrow.translate(placed.x1() - bar.x1(), 0);
      }
      bar = placed;
      standing.push_back(bar);
    }
  }
}

void ChartDrawing::place_rail(const report::Figure& figure) {
  for (const RailLane& lane : rail_lanes_) {
    const auto s = static_cast<std::size_t>(lane.series);
    DrawnSeries& drawn = series_[s];
    for (const report::RailMark& mark : figure.series[s].rail) {
      if (!is_shown_along_x(mark.x)) continue;
      drawn.rail.push_back({lane.series, QPointF(place(mark.x, y_axis_.low()).x(), lane.y),
                            rail_text(figure, figure.series[s], mark), mark.cell});
    }
  }
}

void ChartDrawing::place_front(const report::Figure& figure) {
  QPolygonF line;
  for (const report::Point& point : figure.front) {
    if (AxisScale::can_show(x_axis_.kind(), point.x) &&
        AxisScale::can_show(y_axis_.kind(), point.y))
      line << place(point.x, point.y);
  }
  front_ = clipped(line, plot_);
}

bool ChartDrawing::covers_marker(const QRectF& box, const QTransform& to_page) const {
  const double half = marker_size * look_.em / 2;
  const QRectF wide = box.adjusted(-half, -half, half, half);
  const QTransform to_box = to_page.inverted();
  return std::ranges::any_of(series_, [&](const DrawnSeries& series) {
    return series.visible && std::ranges::any_of(series.points, [&](const DrawnPoint& point) {
             return wide.contains(to_box.map(point.position));
           });
  });
}

// A label is next to its line, to the right where there is room, at the highest position that
// overlaps no other label and, if the plot has such a position, no marker; without any free
// position the line has no label.
void ChartDrawing::place_marks(const report::Figure& figure) {
  if (!look_.marks) return;
  const double em = look_.em;
  const QFontMetricsF metrics(figure_font(em * small_text));
  for (const report::Mark& mark : figure.marks) {
    const auto series = std::ranges::find(series_, mark.style_key, &DrawnSeries::key);
    if (series == series_.end() || !series->visible || !is_shown_along_x(mark.x)) continue;
    const double x = place(mark.x, y_axis_.low()).x();
    DrawnMark drawn;
    drawn.line = QLineF(x, plot_.top(), x, plot_.bottom());
    drawn.text = QString::fromUtf8(mark.text);
    drawn.style = series->style;
    const double width = metrics.horizontalAdvance(drawn.text) + 1;
    const double alongside = 0.3 * em;
    const bool right = x + alongside + width <= plot_.right();
    const QRectF highest(right ? x + alongside : x - alongside - width, plot_.top() + 0.2 * em,
                         width, metrics.height());
    const auto is_taken = [&](const QRectF& rect) {
      return std::ranges::any_of(
          marks_, [&](const DrawnMark& other) { return other.text_rect.intersects(rect); });
    };
    for (const bool may_cover : {false, true}) {
      QRectF rect = highest;
      while (rect.bottom() <= plot_.bottom() &&
             (is_taken(rect) || (!may_cover && covers_marker(rect, {}))))
        rect.translate(0, metrics.height());
      if (rect.bottom() > plot_.bottom() || rect.left() < plot_.left()) continue;
      drawn.text_rect = rect;
      break;
    }
    marks_.push_back(std::move(drawn));
  }
}

void ChartDrawing::place_ceilings(const report::Figure& figure) {
  const Ridge ridge = ridge_of(figure);
  for (const report::Ceiling& ceiling : figure.ceilings) {
    QPolygonF line;
    // A flat line goes from the line of the fastest memory to the right; a slanted line goes up to
    // the highest flat line.
    const double from = !ceiling.per_x && ridge.steepest > 0 ? ceiling.rate / ridge.steepest : 0;
    const double to = ceiling.per_x && ridge.highest_flat > 0
                          ? ridge.highest_flat / ceiling.rate
                          : std::numeric_limits<double>::infinity();
    const double first = std::max(x_axis_.low(), from), last = std::min(x_axis_.high(), to);
    if (first >= last || !AxisScale::can_show(x_axis_.kind(), first)) continue;
    const double start = x_axis_.place(first), end = x_axis_.place(last);
    for (int i = 0; i <= steps; ++i) {
      const double x = x_axis_.value_at(start + (end - start) * i / steps);
      const double y = ceiling.per_x ? ceiling.rate * x : ceiling.rate;
      if (AxisScale::can_show(y_axis_.kind(), y)) line << place(x, y);
    }
    DrawnCeiling drawn;
    drawn.text = QString::fromStdString(ceiling.text);
    drawn.lines = clipped(line, plot_);
    if (!drawn.lines.empty()) ceilings_.push_back(std::move(drawn));
  }
  std::vector<QPolygonF> taken;
  for (DrawnCeiling& ceiling : ceilings_) place_words(ceiling, taken);
}

// A label moves along its line from the upper end down, above the line or else below it, to the
// first position inside the plot without other labels, lines or markers. Between lines that are too
// close for this, it is placed on its own line. Markers are covered only as a last resort.
void ChartDrawing::place_words(DrawnCeiling& ceiling, std::vector<QPolygonF>& taken) const {
  const double em = look_.em;
  const QFontMetricsF metrics(figure_font(em * small_text));
  const QRectF box = box_of(ceiling, metrics);
  const double width = box.width();
  const QLineF whole = ceiling.whole();
  if (whole.length() < width) return;
  const double angle = -whole.angle();
  const double above = -0.1 * em - metrics.descent(), below = 0.1 * em + metrics.ascent();
  const double on_line = -box.center().y();
  const auto is_free = [&](const QTransform& turn, const QPolygonF& corners) {
    return std::ranges::all_of(corners,
                               [&](const QPointF& corner) { return is_inside(corner, plot_); }) &&
           std::ranges::none_of(
               taken, [&](const QPolygonF& other) { return other.intersects(corners); }) &&
           std::ranges::none_of(ceilings_, [&](const DrawnCeiling& other) {
             return &other != &ceiling && clipped(turn.inverted().map(other.whole()), box);
           });
  };
  const auto try_along = [&](std::initializer_list<double> offsets, bool may_cover) {
    constexpr int tries = 24;
    for (int step = 0; step < tries; ++step) {
      const QPointF at =
          whole.pointAt((1 - width / whole.length()) * (1 - static_cast<double>(step) / tries));
      for (const double offset : offsets) {
        QTransform turn;
        turn.translate(at.x(), at.y());
        turn.rotate(angle);
        turn.translate(0, offset);
        const QPolygonF corners = turn.map(QPolygonF(box));
        if (!is_free(turn, corners) || (!may_cover && covers_marker(box, turn))) continue;
        ceiling.text_start = turn.map(QPointF(0, 0));
        ceiling.text_angle = angle;
        ceiling.has_text = true;
        taken.push_back(corners);
        return true;
      }
    }
    return false;
  };
  for (const bool may_cover : {false, true}) {
    if (try_along({above, below}, may_cover) || try_along({on_line}, may_cover)) return;
  }
}

void ChartDrawing::paint(QPainter& painter) const {
  const ThemeColors& colors = colors_of(look_.theme);
  const double em = look_.em;
  const QFont font = figure_font(em), small_font = figure_font(em * small_text);
  painter.setPen(colors.text);
  if (!title_rect_.isEmpty()) draw_lines(painter, figure_font(em, true), title_rect_, title_);
  if (!empty_) {
    draw_lines(painter, font, y_label_rect_, y_label_);
    painter.setFont(font);
    const double label = (has_upright_names_ ? rect_.bottom() - note_rect_.height() - 2 * em
                                             : plot_.bottom() + 1.65 * em);
    painter.drawText(QRectF(plot_.left(), label, plot_.width(), 1.5 * em),
                     Qt::AlignHCenter | Qt::AlignTop, x_label_);
    if (has_bars_) paint_names(painter);
    paint_rail(painter);
    paint_plot(painter);
  }
  painter.setPen(colors.faint_text);
  draw_lines(painter, small_font, note_rect_, note_);
  painter.setFont(font);
  painter.drawText(plot_, Qt::AlignCenter | Qt::TextWordWrap, instead_of_values());
}

void ChartDrawing::paint_minor_grid(QPainter& painter) const {
  const ThemeColors& colors = colors_of(look_.theme);
  painter.setPen(QPen(colors.minor_grid, hair_width * look_.em));
  for (const double value : y_axis_.minor_ticks()) {  // a zoomed axis has none
    const double y = plot_.bottom() - y_axis_.fraction(value) * plot_.height();
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
  }
  painter.setPen(QPen(colors.axis, 1.3 * hair_width * look_.em));
  for (const double value : x_axis_.minor_ticks()) {
    const double x = plot_.left() + x_axis_.fraction(value) * plot_.width();
    painter.drawLine(QPointF(x, plot_.bottom()), QPointF(x, plot_.bottom() + 0.18 * look_.em));
  }
}

void ChartDrawing::paint_below_lines(QPainter& painter) const {
  if (line_at_ && *line_at_ >= y_axis_.low() && *line_at_ <= y_axis_.high()) {
    const double y = plot_.bottom() - y_axis_.fraction(*line_at_) * plot_.height();
    painter.setPen(
        QPen(colors_of(look_.theme).faint_text, 0.6 * line_width * look_.em, Qt::DashLine));
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(look_.theme).faint_text, line_width * look_.em));
  for (const QPolygonF& line : front_) painter.drawPolyline(line);
  paint_ceilings(painter);
  paint_marks(painter);
  for (const DrawnSeries& series : series_) {
    if (series.visible) paint_intervals(painter, series);
  }
}

void ChartDrawing::paint_markers(QPainter& painter) const {
  if (has_bars_) return paint_marks_of_bars(painter);
  for (const DrawnSeries& series : series_) {
    if (!series.visible || !has_markers_) continue;
    for (const DrawnPoint& point : series.points) {
      draw_marker(painter, series.style.marker, point.position, marker_size * look_.em,
                  series.style.color(look_.theme), colors_of(look_.theme).background);
    }
  }
  // Above the marker, to the right if there is room.
  painter.setFont(figure_font(look_.em * small_text));
  painter.setPen(colors_of(look_.theme).text);
  const QFontMetricsF metrics(painter.font());
  const double alongside = 0.6 * marker_size * look_.em;
  for (const DrawnSeries& series : series_) {
    for (const DrawnPoint& point : series.points) {
      if (!series.visible || point.mark.isEmpty()) continue;
      const double width = metrics.horizontalAdvance(point.mark);
      const bool right = point.position.x() + alongside + width <= plot_.right();
      painter.drawText(QPointF(point.position.x() + (right ? alongside : -alongside - width),
                               point.position.y() - 0.2 * look_.em),
                       point.mark);
    }
  }
}

/// Paints each mark at the centre of its bar.
void ChartDrawing::paint_marks_of_bars(QPainter& painter) const {
  painter.setFont(figure_font(look_.em * small_text));
  const double step =
      plot_.width() / static_cast<double>(std::max<std::size_t>(x_axis_.ticks().size(), 1));
  const QFontMetricsF metrics(painter.font());
  for (const DrawnSeries& series : series_) {
    const QColor color = series.style.color(look_.theme);
    painter.setPen(color.lightnessF() < 0.55F ? Qt::white : Qt::black);
    for (const DrawnPoint& point : series.points) {
      QRectF box(0, 0, bar_width * step, metrics.height());
      if (metrics.horizontalAdvance(point.mark) > box.width()) continue;
      box.moveCenter(point.position);
      painter.drawText(box, Qt::AlignCenter, point.mark);
    }
  }
}

/// Rotated upright, towards their bars, where they do not fit side by side.
void ChartDrawing::paint_names(QPainter& painter) const {
  const double em = look_.em, below = plot_.bottom() + 0.4 * em;
  const double step =
      plot_.width() / static_cast<double>(std::max<std::size_t>(x_axis_.ticks().size(), 1));
  const QFontMetricsF metrics(painter.font());
  for (const Tick& name : x_axis_.ticks()) {
    const double x = place(name.value, y_axis_.low()).x();
    if (!has_upright_names_) {
      painter.drawText(QRectF(x - step / 2, below, step, 1.3 * em), Qt::AlignCenter, name.label);
      continue;
    }
    const double room = rect_.bottom() - note_rect_.height() - 2.2 * em - below;
    painter.save();
    painter.translate(x, below);
    painter.rotate(-90);
    painter.drawText(QRectF(-room, -step / 2, room, step), Qt::AlignRight | Qt::AlignVCenter,
                     metrics.elidedText(name.label, Qt::ElideMiddle, room));
    painter.restore();
  }
}

void ChartDrawing::paint_rail(QPainter& painter) const {
  if (rail_lanes_.empty()) return;
  const ThemeColors& colors = colors_of(look_.theme);
  const double em = look_.em;
  painter.fillRect(rail_rect_, colors.rail);
  painter.setFont(figure_font(em * small_text));
  for (const RailLane& lane : rail_lanes_) {
    painter.setPen(QPen(colors.grid, hair_width * em));
    painter.drawLine(QPointF(rail_rect_.left(), lane.y), QPointF(rail_rect_.right(), lane.y));
    painter.setPen(colors.faint_text);
    painter.drawText(
        QRectF(rect_.left(), lane.y - em, plot_.left() - rect_.left() - 0.4 * em, 2 * em),
        Qt::AlignRight | Qt::AlignVCenter, lane.label);
    const DrawnSeries& series = series_[static_cast<std::size_t>(lane.series)];
    for (const DrawnPoint& mark : series.rail) {
      draw_marker(painter, series.style.marker, mark.position, marker_size * em,
                  series.style.color(look_.theme), colors.rail);
    }
  }
}

void ChartDrawing::paint_ceilings(QPainter& painter) const {
  const ThemeColors& colors = colors_of(look_.theme);
  painter.setFont(figure_font(look_.em * small_text));
  painter.setBrush(Qt::NoBrush);
  for (const DrawnCeiling& ceiling : ceilings_) {
    painter.setPen(QPen(colors.axis, 0.7 * line_width * look_.em, Qt::SolidLine, Qt::FlatCap));
    for (const QPolygonF& line : ceiling.lines) painter.drawPolyline(line);
  }
  painter.setPen(colors.faint_text);
  const QFontMetricsF metrics(painter.font());
  for (const DrawnCeiling& ceiling : ceilings_) {
    if (!ceiling.has_text) continue;
    painter.save();
    painter.translate(ceiling.text_start);
    painter.rotate(ceiling.text_angle);
    painter.fillRect(box_of(ceiling, metrics), colors.background);
    painter.drawText(QPointF(0, 0), ceiling.text);
    painter.restore();
  }
}

void ChartDrawing::paint_marks(QPainter& painter) const {
  painter.setFont(figure_font(look_.em * small_text));
  for (const DrawnMark& mark : marks_) {
    const QColor color = mark.style.color(look_.theme);
    painter.setPen(QPen(color, hair_width * look_.em, Qt::DotLine));
    painter.drawLine(mark.line);
    if (mark.text_rect.isEmpty()) continue;
    painter.fillRect(mark.text_rect, colors_of(look_.theme).background);
    painter.setPen(color);
    painter.drawText(mark.text_rect, Qt::AlignLeft | Qt::AlignVCenter, mark.text);
  }
}

void ChartDrawing::paint_intervals(QPainter& painter, const DrawnSeries& series) const {
  const double em = look_.em;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(
      QPen(series.style.color(look_.theme), 0.75 * line_width * em, Qt::SolidLine, Qt::FlatCap));
  const QPointF cap(cap_width * em / 2, 0);
  for (const QLineF& interval : series.intervals) {
    painter.drawLine(interval);
    for (const QPointF end : {interval.p1(), interval.p2()}) {
      const bool is_cut = std::ranges::any_of(
          series.arrows, [&](const QPolygonF& arrow) { return arrow[1] == end; });
      if (!is_cut) painter.drawLine(end - cap, end + cap);
    }
  }
  for (const QPolygonF& arrow : series.arrows) painter.drawPolyline(arrow);
}

// Qt Charts has fixed lengths for screens, so a page with finer units is drawn on a smaller scene.
void ChartDrawing::paint_plot(QPainter& painter) const {
  constexpr double largest_em = 40, em_on_scene = 12;
  const double unit = look_.em > largest_em ? em_on_scene / look_.em : 1;
  const QRectF scene_rect(rect_.topLeft() * unit, rect_.size() * unit);

  QGraphicsScene scene;
  scene.setItemIndexMethod(QGraphicsScene::NoIndex);
  auto* chart = new QChart;
  scene.addItem(chart);
  chart->legend()->hide();
  chart->setBackgroundVisible(false);
  chart->layout()->setContentsMargins(0, 0, 0, 0);
  chart->setMargins({});
  chart->setGeometry(scene_rect);
  chart->setPlotArea(QRectF((plot_.topLeft() - rect_.topLeft()) * unit, plot_.size() * unit));

  QCategoryAxis* const x =
      add_axis(*chart, has_bars_ ? AxisScale::of_names({}) : x_axis_, Qt::AlignBottom, look_, unit);
  QCategoryAxis* const y = add_axis(*chart, y_axis_, Qt::AlignLeft, look_, unit);
  for (const DrawnSeries& series : series_) {
    if (!series.visible) continue;
    for (const QPolygonF& line : series.lines) {
      QList<QPointF> places;
      for (const QPointF& point : line) {
        places.append({(point.x() - plot_.left()) / plot_.width(),
                       (plot_.bottom() - point.y()) / plot_.height()});
      }
      auto* drawn = new QLineSeries;
      drawn->setPen(series.style.pen(look_.theme, line_width * look_.em * unit));
      drawn->replace(places);
      chart->addSeries(drawn);
      drawn->attachAxis(x);
      drawn->attachAxis(y);
    }
  }
  if (has_bars_) {
    auto* stacks = new QStackedBarSeries;
    stacks->setBarWidth(bar_width);
    for (const DrawnSeries& series : series_) {
      auto* pieces = new QBarSet(QString::fromStdString(series.key));
      pieces->setColor(series.style.color(look_.theme));
      pieces->setPen(Qt::NoPen);
      pieces->append(QList<qreal>(series.bars.begin(), series.bars.end()));
      stacks->append(pieces);
    }
    chart->addSeries(stacks);
    x->setRange(x_axis_.low(), x_axis_.high());  // bars are at integers
    stacks->attachAxis(x);
    stacks->attachAxis(y);
  }
  // The chart owns the layers, like its other items.
  new Layer(chart, below_grid, rect_, unit, [&](QPainter& on) { paint_minor_grid(on); });
  new Layer(chart, below_series, rect_, unit, [&](QPainter& on) { paint_below_lines(on); });
  new Layer(chart, above_series, rect_, unit, [&](QPainter& on) { paint_markers(on); });
  chart->layout()->invalidate();  // otherwise the axes keep their earlier position
  chart->layout()->activate();
  painter.setBrush(Qt::NoBrush);  // lines are painted with the current brush
  scene.render(&painter, rect_, scene_rect, Qt::IgnoreAspectRatio);
}

}  // namespace attnscope::charts
