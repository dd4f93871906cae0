// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/chart_drawing.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "app/gui/charts/figure_font.h"
#include "engine/sweep/cell.h"

namespace attnscope::charts {
namespace {

constexpr double small = 0.85;           // of em: rail labels, notes, captions
constexpr double least_plot_height = 7;  // em

QString text_of(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QSizeF wrapped_size(const QFont& font, const QString& text, double width) {
  return QFontMetricsF(font)
      .boundingRect(QRectF(0, 0, width, 1e6), Qt::TextWordWrap | Qt::TextWrapAnywhere, text)
      .size();
}

double widest(const QFont& font, const std::vector<Tick>& ticks) {
  const QFontMetricsF metrics(font);
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, metrics.horizontalAdvance(tick.label));
  return width;
}

QString status_text(const report::Series& series) {
  const std::string_view first = series.rail.front().word();
  const bool same = std::ranges::all_of(
      series.rail, [first](const report::RailMark& mark) { return mark.word() == first; });
  return same ? text_of(first) : QStringLiteral("failed");
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
  return common == nullptr ? text : text + QStringLiteral(": ") + text_of(*common);
}

QString point_text(const report::Figure& figure, const report::Series& series,
                   const report::Point& point) {
  QString value = number_text(point.y);
  if (point.low < point.high) {
    value += QStringLiteral("  [%1, %2]").arg(number_text(point.low), number_text(point.high));
  }
  return QStringLiteral("%1\n%2: %3\n%4: %5")
      .arg(text_of(series.name), text_of(figure.x_label), number_text(point.x, 6),
           text_of(figure.y_label), value);
}

QString rail_text(const report::Figure& figure, const report::Series& series,
                  const report::RailMark& mark) {
  QString text = QStringLiteral("%1\n%2: %3\n%4")
                     .arg(text_of(series.name), text_of(figure.x_label), number_text(mark.x, 6),
                          text_of(mark.word()));
  if (!mark.reason.empty()) text += QStringLiteral(": ") + text_of(mark.reason);
  return text;
}

}  // namespace

ChartDrawing::ChartDrawing(const report::Figure& figure, ContenderStyles& styles, Page page)
    : page_(std::move(page)),
      title_(text_of(figure.title)),
      x_label_(text_of(figure.x_label)),
      y_label_(text_of(figure.y_label)) {
  for (const report::Series& series : figure.series) {
    DrawnSeries drawn;
    drawn.name = text_of(series.name);
    drawn.key = series.style_key;
    drawn.style = styles.style(series.style_key);
    drawn.visible = !page_.hidden.contains(series.style_key);
    series_.push_back(std::move(drawn));
    empty_ = empty_ && series.points.empty() && series.rail.empty();
  }
  collect_axes(figure);
  lay_out(figure);
  if (empty_) return;
  place_series(figure);
  place_rail(figure);
  place_marks(figure);
}

void ChartDrawing::collect_axes(const report::Figure& figure) {
  const ScaleKind x_kind = figure.log_x ? ScaleKind::log2 : ScaleKind::linear;
  const ScaleKind y_kind = figure.log_y ? ScaleKind::log10 : ScaleKind::linear;
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
      ys.insert(ys.end(), {point.y, point.low, point.high});
    }
    for (const report::RailMark& mark : figure.series[s].rail) {
      if (AxisScale::can_show(x_kind, mark.x)) {
        xs.push_back(mark.x);
      } else {
        ++left_out_;
      }
    }
  }
  x_axis_ = AxisScale(x_kind, xs);
  if (ys.empty()) {
    without_values_ = nothing_measured(figure);  // and no ticks
  } else {
    if (figure.line_at && AxisScale::can_show(y_kind, *figure.line_at)) {
      line_at_ = figure.line_at;
      ys.push_back(*line_at_);
    }
    y_axis_ = AxisScale(y_kind, ys);
  }
  if (left_out_ > 0) {
    note_ = QStringLiteral("%1 value%2 that these axes cannot show (zero, infinite or missing)")
                .arg(left_out_)
                .arg(left_out_ == 1 ? QString() : QStringLiteral("s"));
  }
}

double ChartDrawing::y_label_width() const {
  double width = widest(figure_font(page_.em), y_axis_.ticks());
  const QFontMetricsF metrics(figure_font(page_.em * small));
  for (const RailLane& lane : rail_lanes_) {
    width = std::max(width, metrics.horizontalAdvance(lane.label));
  }
  return width;
}

double ChartDrawing::least_height() const {
  return height_around_plot_ + least_plot_height * page_.em;
}

void ChartDrawing::lay_out(const report::Figure& figure) {
  const double em = page_.em;
  const double pad = 0.5 * em;
  const double width = page_.size.width() - 2 * pad;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    if (!series_[s].visible || figure.series[s].rail.empty()) continue;
    rail_lanes_.push_back({static_cast<int>(s), status_text(figure.series[s]), 0});
  }

  double top = pad;
  if (page_.title && !title_.isEmpty()) {
    const double height = wrapped_size(figure_font(em, true), title_, width).height();
    title_rect_ = QRectF(pad, top, width, height);
    top += height + 0.3 * em;
  }
  top += 2.0 * em;  // the y axis' label
  const double rail_height = 1.05 * em * static_cast<double>(rail_lanes_.size());
  const double rail_top = top;
  if (!rail_lanes_.empty()) top += rail_height + 0.35 * em;

  // Below the plot, from the bottom upwards.
  double below = pad;
  if (!page_.caption.isEmpty()) {
    const double height = wrapped_size(figure_font(em * small), page_.caption, width).height();
    caption_rect_ = QRectF(pad, page_.size.height() - below - height, width, height);
    below += height + 0.5 * em;
  }
  const double legend_height = page_.legend ? lay_out_legend(pad, width) : 0;
  const double legend_top = page_.size.height() - below - legend_height;
  for (LegendEntry& entry : legend_) {
    entry.rect.translate(0, legend_top);
    entry.text_rect.translate(0, legend_top);
  }
  if (!legend_.empty()) below += legend_height + 0.5 * em;
  if (!note_.isEmpty()) {
    const double height = wrapped_size(figure_font(em * small), note_, width).height();
    note_rect_ = QRectF(pad, page_.size.height() - below - height, width, height);
    below += height + 0.3 * em;
  }
  below += 3.1 * em;  // tick labels and the x axis' label

  height_around_plot_ = top + below;
  const double plot_height = std::max(1.0, page_.size.height() - top - below);
  y_axis_.keep_at_most(static_cast<int>(plot_height / (1.5 * em)));
  const double left = pad + y_label_width() + 0.5 * em;
  // The last x label is centred under its tick: half of it may stand beyond the frame.
  const double plot_width = std::max(1.0, page_.size.width() - left - pad - 0.6 * em);
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
      const double text_height = wrapped_size(font, series.name, text_width).height();
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

QPointF ChartDrawing::place(double x, double y) const {
  return {plot_.left() + x_axis_.fraction(x) * plot_.width(),
          plot_.bottom() - y_axis_.fraction(y) * plot_.height()};
}

void ChartDrawing::place_series(const report::Figure& figure) {
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const report::Series& series = figure.series[s];
    DrawnSeries& drawn = series_[s];
    QPolygonF line;
    const auto end_line = [&] {
      if (line.size() > 1) drawn.lines.push_back(line);
      line.clear();
    };
    double previous_x = 0;
    for (const report::Point& point : series.points) {
      if (!AxisScale::can_show(x_axis_.kind(), point.x) ||
          !AxisScale::can_show(y_axis_.kind(), point.y)) {
        end_line();
        continue;
      }
      const bool gap = std::ranges::any_of(series.rail, [&](const report::RailMark& mark) {
        return mark.x > previous_x && mark.x < point.x;
      });
      if (gap) end_line();
      previous_x = point.x;
      const QPointF position = place(point.x, point.y);
      line << position;
      if (point.low < point.high) {
        drawn.intervals.emplace_back(place(point.x, point.low), place(point.x, point.high));
      }
      drawn.points.push_back({static_cast<int>(s), static_cast<int>(drawn.points.size()), position,
                              point_text(figure, series, point)});
    }
    end_line();
  }
}

void ChartDrawing::place_rail(const report::Figure& figure) {
  for (const RailLane& lane : rail_lanes_) {
    const auto s = static_cast<std::size_t>(lane.series);
    DrawnSeries& drawn = series_[s];
    for (const report::RailMark& mark : figure.series[s].rail) {
      if (!AxisScale::can_show(x_axis_.kind(), mark.x)) continue;
      drawn.rail.push_back({lane.series, static_cast<int>(drawn.points.size() + drawn.rail.size()),
                            QPointF(place(mark.x, y_axis_.low()).x(), lane.y),
                            rail_text(figure, figure.series[s], mark)});
    }
  }
}

// Words stand on the side that has room for them, each mark's below those before it, so that marks
// close to each other can be read.
void ChartDrawing::place_marks(const report::Figure& figure) {
  if (y_axis_.ticks().empty()) return;
  const double em = page_.em;
  const QFontMetricsF metrics(figure_font(em * small));
  double top = plot_.top() + 0.2 * em;
  for (const report::Mark& mark : figure.marks) {
    const auto series = std::ranges::find(series_, mark.style_key, &DrawnSeries::key);
    if (series == series_.end() || !series->visible) continue;
    if (!AxisScale::can_show(x_axis_.kind(), mark.x)) continue;
    if (mark.x < x_axis_.low() || mark.x > x_axis_.high()) continue;
    const double x = place(mark.x, y_axis_.low()).x();
    DrawnMark drawn;
    drawn.line = QLineF(x, plot_.top(), x, plot_.bottom());
    drawn.text = text_of(mark.text);
    drawn.style = series->style;
    const double width = metrics.horizontalAdvance(drawn.text) + 1;
    const double beside = 0.3 * em;
    const bool right = x + beside + width <= plot_.right();
    drawn.text_rect = QRectF(right ? x + beside : x - beside - width, top, width, metrics.height());
    top += metrics.height();
    marks_.push_back(std::move(drawn));
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

const LegendEntry* ChartDrawing::legend_at(QPointF position) const {
  for (const LegendEntry& entry : legend_) {
    if (entry.rect.contains(position)) return &entry;
  }
  return nullptr;
}

}  // namespace attnscope::charts
