// SPDX-License-Identifier: GPL-3.0-or-later
//
// Where everything of a chart lies: axes and texts first, then values, rail, crossovers and the
// roofline in the plot that they leave.
#include "app/gui/charts/chart_drawing.h"

#include <QFontMetricsF>
#include <QTransform>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/text_lines.h"
#include "engine/heat/cell.h"

namespace attnscope::charts {
namespace {

// Lines are cut at the frame of the plot before they are painted: QSvgGenerator does not clip. By
// Liang and Barsky: the part of the line's parameter that all four borders leave.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& frame) {
  struct Border {
    double step, room;
  };
  const std::array<Border, 4> borders{{{-line.dx(), line.x1() - frame.left()},
                                       {line.dx(), frame.right() - line.x1()},
                                       {-line.dy(), line.y1() - frame.top()},
                                       {line.dy(), frame.bottom() - line.y1()}}};
  double from = 0, to = 1;
  for (const Border& border : borders) {
    if (border.step == 0) {
      if (border.room < 0) return std::nullopt;
      continue;
    }
    const double at = border.room / border.step;
    if (border.step < 0) {
      from = std::max(from, at);
    } else {
      to = std::min(to, at);
    }
  }
  if (from > to) return std::nullopt;
  return QLineF(line.pointAt(from), line.pointAt(to));
}

std::vector<QPolygonF> clipped(const QPolygonF& line, const QRectF& frame) {
  std::vector<QPolygonF> parts;
  bool joined = false;  // the next piece goes on where the last one ended
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
  return same ? QString::fromUtf8(first) : QStringLiteral("failed");
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

/// Contender, the cell's label where it has one, and where it lies along x.
QString head_of(const report::Figure& figure, const report::Series& series, double x,
                const std::string& label) {
  QString text = QString::fromUtf8(series.name);
  if (!label.empty()) text += QLatin1Char('\n') + QString::fromUtf8(label);
  return text +
         QStringLiteral("\n%1: %2").arg(QString::fromUtf8(figure.x_label), number_text(x, 6));
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

constexpr int steps = 64;  // of a slanted line, which is bent unless both axes are logarithmic

/// Where the flat ceilings begin and the slanted ones end.
struct Ridge {
  double highest_flat = 0;  // 0: none, and nothing ends the slanted ones
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

}  // namespace

ChartDrawing::ChartDrawing(const report::Figure& figure, ContenderStyles& styles, Page page)
    : page_(std::move(page)),
      title_(QString::fromUtf8(figure.title)),
      x_label_(QString::fromUtf8(figure.x_label)),
      y_label_(QString::fromUtf8(figure.y_label)) {
  for (const report::Series& series : figure.series) {
    DrawnSeries drawn;
    drawn.name = QString::fromUtf8(series.name);
    drawn.key = series.style_key;
    drawn.style = styles.style(series.style_key);
    drawn.visible = !page_.hidden.contains(series.style_key);
    series_.push_back(std::move(drawn));
    empty_ = empty_ && series.points.empty() && series.rail.empty();
  }
  collect_axes(figure);
  lay_out(figure);
  if (empty_ || !page_.plot || page_.size.height() == 0) return;
  place_series(figure);
  place_rail(figure);
  place_marks(figure);
  place_ceilings(figure);
}

void ChartDrawing::collect_axes(const report::Figure& figure) {
  const ScaleKind x_kind = figure.x_scale;
  const ScaleKind y_kind = figure.y_scale;
  const bool any_visible =
      std::ranges::any_of(series_, [](const DrawnSeries& series) { return series.visible; });
  std::vector<double> xs = page_.shared_x;
  std::vector<double> ys = page_.shared_y;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const bool counts = series_[s].visible || !any_visible;
    for (const report::Point& point : figure.series[s].points) {
      if (!AxisScale::can_show(x_kind, point.x) || !AxisScale::can_show(y_kind, point.y)) {
        ++left_out_;
        continue;
      }
      xs.push_back(point.x);  // of hidden series too: lengths stay where they are
      if (!counts) continue;
      add_reached(ys, point.y, point.low, point.high);
    }
    for (const report::RailMark& mark : figure.series[s].rail) {
      if (AxisScale::can_show(x_kind, mark.x)) {
        xs.push_back(mark.x);
      } else {
        ++left_out_;
      }
    }
  }
  // Left of all values there is room for the slanted ceilings and their words.
  constexpr double room_for_ceilings = 8;
  const bool slanted = std::ranges::any_of(figure.ceilings, &report::Ceiling::per_x);
  if (slanted && !xs.empty()) xs.push_back(std::ranges::min(xs) / room_for_ceilings);
  x_axis_ = AxisScale(x_kind, xs);
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
  const auto is_range = [](ScaleKind kind, const AxisRange& range) {
    return AxisScale::can_show(kind, range.low) && std::isfinite(range.high) &&
           range.low < range.high;
  };
  if (page_.x_range && is_range(x_kind, *page_.x_range)) {
    x_axis_ = AxisScale::within(x_kind, *page_.x_range);
  }
  if (page_.y_range && !ys.empty() && is_range(y_kind, *page_.y_range)) {
    y_axis_ = AxisScale::within(y_kind, *page_.y_range);
  }
  note_left_out(figure);
}

void ChartDrawing::note_left_out(const report::Figure& figure) {
  QStringList notes;
  const auto add = [&](int count, const QString& one, const QString& several) {
    if (count > 0) notes.append(QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : several));
  };
  add(left_out_, QStringLiteral("value that these axes cannot show (zero, infinite or missing)"),
      QStringLiteral("values that these axes cannot show (zero, infinite or missing)"));
  add(figure.without_place, QStringLiteral("cell whose work is not known"),
      QStringLiteral("cells whose work is not known"));
  if (page_.warning && !figure.warning.empty()) notes.append(QString::fromUtf8(figure.warning));
  note_ = notes.join(QStringLiteral("; "));
}

double ChartDrawing::y_label_width() const {
  double width = widest(figure_font(page_.em), y_axis_.ticks());
  const QFontMetricsF metrics(figure_font(page_.em * small_text));
  for (const RailLane& lane : rail_lanes_) {
    width = std::max(width, metrics.horizontalAdvance(lane.label));
  }
  return width;
}

double ChartDrawing::least_height() const {
  return height_around_plot_ + (page_.plot ? least_plot_height * page_.em : 0);
}

void ChartDrawing::lay_out(const report::Figure& figure) {
  const double em = page_.em;
  const double pad = 0.5 * em;
  const double begin = page_.origin.x() + pad, bottom = rect().bottom();
  const double width = page_.size.width() - 2 * pad;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const bool has_rail = std::ranges::any_of(
        figure.series[s].rail, [&](const report::RailMark& m) { return is_shown_along_x(m.x); });
    if (!series_[s].visible || !has_rail) continue;
    rail_lanes_.push_back({static_cast<int>(s), status_text(figure.series[s]), 0});
  }

  double top = page_.origin.y() + pad;
  if (page_.title && !title_.isEmpty()) {
    const double height = size_of_lines(figure_font(em, true), title_, width).height();
    title_rect_ = QRectF(begin, top, width, height);
    top += height + 0.3 * em;
  }
  if (page_.plot) {
    const double height = size_of_lines(figure_font(em), y_label_, width).height();
    y_label_rect_ = QRectF(begin, top, width, height);
    top += height + 0.6 * em;
  }
  const double rail_height = 1.05 * em * static_cast<double>(rail_lanes_.size());
  const double rail_top = top;
  if (!rail_lanes_.empty()) top += rail_height + 0.35 * em;

  // Below the plot, from the bottom upwards.
  double below = pad;
  if (!page_.caption.isEmpty()) {
    const double height =
        size_of_lines(figure_font(em * small_text), page_.caption, width).height();
    caption_rect_ = QRectF(begin, bottom - below - height, width, height);
    below += height + 0.5 * em;
  }
  const double legend_height = page_.legend ? lay_out_legend(begin, width) : 0;
  const double legend_top = bottom - below - legend_height;
  for (LegendEntry& entry : legend_) {
    entry.rect.translate(0, legend_top);
    entry.text_rect.translate(0, legend_top);
  }
  if (!legend_.empty()) below += legend_height + 0.5 * em;
  if (!note_.isEmpty()) {
    const double height = size_of_lines(figure_font(em * small_text), note_, width).height();
    note_rect_ = QRectF(begin, bottom - below - height, width, height);
    below += height + 0.3 * em;
  }
  if (page_.plot) below += 3.1 * em;  // tick labels and the x axis' label

  height_around_plot_ = top - page_.origin.y() + below;
  const double plot_height = std::max(1.0, bottom - top - below);
  y_axis_.keep_at_most(static_cast<int>(plot_height / (1.5 * em)));
  const double left = begin + y_label_width() + 0.5 * em;
  // The last x label is centred under its tick: half of it may stand beyond the frame.
  const double plot_width = std::max(1.0, rect().right() - left - pad - 0.6 * em);
  plot_ = QRectF(left, top, plot_width, plot_height);
  rail_rect_ = QRectF(left, rail_top, plot_width, rail_height);
  for (std::size_t i = 0; i < rail_lanes_.size(); ++i) {
    rail_lanes_[i].y = rail_top + 1.05 * em * (static_cast<double>(i) + 0.5);
  }
  x_axis_.keep_at_most(
      static_cast<int>(plot_width / (widest(figure_font(em), x_axis_.ticks()) + em)));
}

// Fills columns from top to bottom; every name stands whole, over several lines where it must.
double ChartDrawing::lay_out_legend(double left, double width) {
  const double em = page_.em;
  const double sample = 3 * em;
  const double gap = 1.2 * em;
  const QFont font = figure_font(em);
  double widest_name = 0;
  for (const DrawnSeries& series : series_) {
    widest_name = std::max(widest_name, QFontMetricsF(font).horizontalAdvance(series.name) + 1);
  }
  const double column = std::min(width, sample + std::ceil(widest_name) + 0.3 * em);
  const auto count = static_cast<int>(series_.size());
  int columns = std::clamp(static_cast<int>((width + gap) / (column + gap)), 1, std::max(1, count));
  const int rows = (count + columns - 1) / columns;
  double top = 0;
  for (int row = 0; row < rows; ++row) {
    double height = 0;
    for (int c = 0; c < columns; ++c) {
      const int index = c * rows + row;
      if (index >= count) continue;
      const DrawnSeries& series = series_[static_cast<std::size_t>(index)];
      const double text_width = column - sample;
      const double text_height = size_of_lines(font, series.name, text_width).height();
      const double x = left + c * (column + gap);
      legend_.push_back({index, series.name, QRectF(x, top, column, text_height + 0.2 * em),
                         QRectF(x + sample, top + 0.1 * em, text_width, text_height)});
      height = std::max(height, text_height + 0.2 * em);
    }
    top += height;
  }
  std::ranges::sort(legend_, {}, &LegendEntry::series);
  return top;
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

std::vector<const DrawnPoint*> ChartDrawing::stops_of(int series) const {
  std::vector<const DrawnPoint*> stops;
  const DrawnSeries& one = series_[static_cast<std::size_t>(series)];
  if (!one.visible) return stops;
  for (const auto* points : {&one.points, &one.rail}) {
    for (const DrawnPoint& point : *points) stops.push_back(&point);
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

const LegendEntry* ChartDrawing::legend_at(QPointF position) const {
  for (const LegendEntry& entry : legend_) {
    if (entry.rect.contains(position)) return &entry;
  }
  return nullptr;
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
      if (page_.intervals && point.low < point.high) {
        const double low =
            AxisScale::can_show(y_axis_.kind(), point.low) ? point.low : y_axis_.low();
        const QLineF whole(place(point.x, low), place(point.x, point.high));
        if (const auto interval = clipped(whole, plot_)) drawn.intervals.push_back(*interval);
        constexpr double rounding = 1e-6;
        const double half = 0.25 * page_.em;
        const auto add_arrow = [&](double edge, double inward) {
          const double x = position.x(), y = edge + inward * 1.5 * half;
          drawn.arrows.push_back(QPolygonF({{x - half, y}, {x, edge}, {x + half, y}}));
        };
        if (whole.y2() < plot_.top() - rounding) add_arrow(plot_.top(), 1);
        if (whole.y1() > plot_.bottom() + rounding || low > point.low)
          add_arrow(plot_.bottom(), -1);
      }
      drawn.points.push_back({static_cast<int>(s), static_cast<int>(drawn.points.size()), position,
                              point_text(figure, series, point), point.cell});
    }
    end_line();
  }
  part_intervals();
}

// Bars that would cover each other at one x stand side by side, the first at its place and the next
// right and left of it by turns.
void ChartDrawing::part_intervals() {
  const double step = 0.35 * page_.em, gap = 0.1 * page_.em;
  constexpr int most_steps = 6;
  std::vector<QLineF> standing;  // where bars have their place
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
      drawn.rail.push_back({lane.series, static_cast<int>(drawn.points.size() + drawn.rail.size()),
                            QPointF(place(mark.x, y_axis_.low()).x(), lane.y),
                            rail_text(figure, figure.series[s], mark), mark.cell});
    }
  }
}

// Words stand beside their line, right of it where there is room, in the highest place that no
// other words take; where the plot has none left, the line stands alone.
void ChartDrawing::place_marks(const report::Figure& figure) {
  if (!page_.marks || y_axis_.ticks().empty()) return;
  const double em = page_.em;
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
    const double beside = 0.3 * em;
    const bool right = x + beside + width <= plot_.right();
    QRectF rect(right ? x + beside : x - beside - width, plot_.top() + 0.2 * em, width,
                metrics.height());
    const auto is_taken = [&] {
      return std::ranges::any_of(
          marks_, [&](const DrawnMark& other) { return other.text_rect.intersects(rect); });
    };
    while (rect.bottom() <= plot_.bottom() && is_taken()) rect.translate(0, metrics.height());
    if (rect.bottom() <= plot_.bottom() && rect.left() >= plot_.left()) drawn.text_rect = rect;
    marks_.push_back(std::move(drawn));
  }
}

void ChartDrawing::place_ceilings(const report::Figure& figure) {
  if (figure.ceilings.empty() || y_axis_.ticks().empty()) return;
  const Ridge ridge = ridge_of(figure);
  std::vector<QPolygonF> taken;
  for (const report::Ceiling& ceiling : figure.ceilings) {
    QPolygonF line;
    // From the line of the fastest memory on to the right, or up to the highest flat line.
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
    if (drawn.lines.empty()) continue;
    place_words(drawn, taken);
    ceilings_.push_back(std::move(drawn));
  }
}

// The words slide along their line, from its upper end down, above it or else below it, to the
// first place where they lie in the plot and across no other words.
void ChartDrawing::place_words(DrawnCeiling& ceiling, std::vector<QPolygonF>& taken) const {
  const double em = page_.em;
  const QFontMetricsF metrics(figure_font(em * small_text));
  const double width = metrics.horizontalAdvance(ceiling.text);
  const QRectF box(0, -metrics.ascent(), width, metrics.ascent() + metrics.descent());
  const QLineF whole(ceiling.lines.front().first(), ceiling.lines.back().last());
  if (whole.length() < width) return;
  const double angle = -whole.angle();
  const double above = -0.1 * em - metrics.descent(), below = 0.1 * em + metrics.ascent();
  constexpr int tries = 24;
  for (int i = 0; i < 2 * tries; ++i) {
    const int step = i / 2;
    const double t = (1 - width / whole.length()) * (1 - static_cast<double>(step) / tries);
    QTransform turn;
    const QPointF on_line = whole.pointAt(t);
    turn.translate(on_line.x(), on_line.y());
    turn.rotate(angle);
    turn.translate(0, i % 2 == 0 ? above : below);
    const QPolygonF corners = turn.map(QPolygonF(box));
    const bool in_plot = std::ranges::all_of(
        corners, [&](const QPointF& corner) { return is_inside(corner, plot_); });
    const bool free = std::ranges::none_of(
        taken, [&](const QPolygonF& other) { return other.intersects(corners); });
    if (!in_plot || !free) continue;
    ceiling.text_start = turn.map(QPointF(0, 0));
    ceiling.text_angle = angle;
    ceiling.has_text = true;
    taken.push_back(corners);
    return;
  }
}

}  // namespace attnscope::charts
