// SPDX-License-Identifier: GPL-3.0-or-later
//
// How a laid-out chart is painted: axes, grid and lines by Qt Charts, whose scene has our layers
// between its own; words, legend and rail around it.
#include <QCategoryAxis>
#include <QChart>
#include <QGraphicsItem>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QLineSeries>
#include <algorithm>
#include <functional>
#include <utility>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/marker.h"
#include "app/gui/charts/text_lines.h"

namespace attnscope::charts {
namespace {

constexpr double cap_width = 0.4;  // em

// Qt Charts draws its grid at 2, axes at 3 and series from 4 on.
constexpr double below_grid = 1.5, below_series = 3.5, above_series = 9;

/// Painted in the page's units at its place among the chart's layers.
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
    painter->save();  // what is left set here would be the next item's
    paint_(*painter);
    painter->restore();
  }

 private:
  QRectF bounds_;
  Paint paint_;
};

/// From 0 to 1, with the scale's ticks at their places: so every scale and every zoom is one kind
/// of axis.
QCategoryAxis* add_axis(QChart& chart, const AxisScale& scale, Qt::Alignment side,
                        const ChartDrawing::Page& page, double unit) {
  constexpr double rounding = 1e-9;  // a tick at an end lies on the axis
  const ThemeColors& colors = colors_of(page.theme);
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  axis->setTruncateLabels(false);
  axis->setLabelsFont(figure_font(page.em * unit));
  axis->setLabelsColor(colors.text);
  axis->setGridLinePen(QPen(colors.grid, hair_width * page.em * unit));
  axis->setLinePen(QPen(colors.axis, 1.3 * hair_width * page.em * unit));
  axis->setLineVisible(side == Qt::AlignBottom);
  axis->setRange(-rounding, 1 + rounding);
  axis->setStartValue(-1);  // its line lies outside
  QString label;
  for (const Tick& tick : scale.ticks()) {
    // Two ticks of a deep zoom may have the same words, of which the axis would drop one.
    label = tick.label;
    while (axis->categoriesLabels().contains(label)) label += QChar(0x200B);
    axis->append(label, scale.place(tick.value));
  }
  chart.addAxis(axis, side);
  return axis;
}

}  // namespace

void ChartDrawing::paint(QPainter& painter, int focused_series) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.fillRect(rect(), colors.background);
  paint_texts(painter);
  paint_legend(painter, focused_series);
  if (!page_.plot) return;
  if (empty_) {
    painter.setFont(figure_font(page_.em));
    painter.setPen(colors.faint_text);
    painter.drawText(plot_, Qt::AlignCenter | Qt::TextWordWrap, page_.placeholder);
    return;
  }
  paint_rail(painter);
  paint_plot(painter);
  if (y_axis_.ticks().empty()) {
    painter.setPen(colors.faint_text);
    painter.drawText(plot_, Qt::AlignCenter | Qt::TextWordWrap, without_values_);
  }
}

void ChartDrawing::paint_minor_grid(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setPen(QPen(colors.minor_grid, hair_width * page_.em));
  for (const double value : y_axis_.minor_ticks()) {  // none of a zoomed axis
    const double y = plot_.bottom() - y_axis_.fraction(value) * plot_.height();
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
  }
  painter.setPen(QPen(colors.axis, 1.3 * hair_width * page_.em));
  for (const double value : x_axis_.minor_ticks()) {
    const double x = plot_.left() + x_axis_.fraction(value) * plot_.width();
    painter.drawLine(QPointF(x, plot_.bottom()), QPointF(x, plot_.bottom() + 0.18 * page_.em));
  }
}

void ChartDrawing::paint_below_lines(QPainter& painter) const {
  if (line_at_ && *line_at_ >= y_axis_.low() && *line_at_ <= y_axis_.high()) {
    const double y = plot_.bottom() - y_axis_.fraction(*line_at_) * plot_.height();
    painter.setPen(
        QPen(colors_of(page_.theme).faint_text, 0.6 * line_width * page_.em, Qt::DashLine));
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
  }
  paint_ceilings(painter);
  paint_marks(painter);
  for (const DrawnSeries& series : series_) {
    if (series.visible) paint_intervals(painter, series);
  }
}

void ChartDrawing::paint_markers(QPainter& painter) const {
  for (const DrawnSeries& series : series_) {
    if (!series.visible) continue;
    for (const DrawnPoint& point : series.points) {
      draw_marker(painter, series.style.marker, point.position, marker_size * page_.em,
                  series.style.color(page_.theme), colors_of(page_.theme).background);
    }
  }
}

void ChartDrawing::paint_texts(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  painter.setPen(colors.text);
  if (!title_rect_.isEmpty()) draw_lines(painter, figure_font(em, true), title_rect_, title_);
  if (!empty_ && page_.plot) {
    draw_lines(painter, figure_font(em), y_label_rect_, y_label_);
    painter.setFont(figure_font(em));
    painter.drawText(QRectF(plot_.left(), plot_.bottom() + 1.65 * em, plot_.width(), 1.5 * em),
                     Qt::AlignHCenter | Qt::AlignTop, x_label_);
  }
  painter.setPen(colors.faint_text);
  const QFont small_font = figure_font(em * small_text);
  if (!note_.isEmpty()) draw_lines(painter, small_font, note_rect_, note_);
  if (!page_.caption.isEmpty()) draw_lines(painter, small_font, caption_rect_, page_.caption);
}

void ChartDrawing::paint_rail(QPainter& painter) const {
  if (rail_lanes_.empty()) return;
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  painter.fillRect(rail_rect_, colors.rail);
  painter.setFont(figure_font(em * small_text));
  for (const RailLane& lane : rail_lanes_) {
    painter.setPen(QPen(colors.grid, hair_width * em));
    painter.drawLine(QPointF(rail_rect_.left(), lane.y), QPointF(rail_rect_.right(), lane.y));
    painter.setPen(colors.faint_text);
    painter.drawText(
        QRectF(page_.origin.x(), lane.y - em, plot_.left() - page_.origin.x() - 0.4 * em, 2 * em),
        Qt::AlignRight | Qt::AlignVCenter, lane.label);
    const DrawnSeries& series = series_[static_cast<std::size_t>(lane.series)];
    for (const DrawnPoint& mark : series.rail) {
      draw_marker(painter, series.style.marker, mark.position, marker_size * em,
                  series.style.color(page_.theme), colors.rail);
    }
  }
}

void ChartDrawing::paint_ceilings(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setFont(figure_font(page_.em * small_text));
  painter.setBrush(Qt::NoBrush);
  for (const DrawnCeiling& ceiling : ceilings_) {
    painter.setPen(QPen(colors.axis, 0.7 * line_width * page_.em, Qt::SolidLine, Qt::FlatCap));
    for (const QPolygonF& line : ceiling.lines) painter.drawPolyline(line);
  }
  painter.setPen(colors.faint_text);
  for (const DrawnCeiling& ceiling : ceilings_) {
    if (!ceiling.has_text) continue;
    painter.save();
    painter.translate(ceiling.text_start);
    painter.rotate(ceiling.text_angle);
    painter.drawText(QPointF(0, 0), ceiling.text);
    painter.restore();
  }
}

void ChartDrawing::paint_marks(QPainter& painter) const {
  painter.setFont(figure_font(page_.em * small_text));
  for (const DrawnMark& mark : marks_) {
    const QColor color = mark.style.color(page_.theme);
    painter.setPen(QPen(color, hair_width * page_.em, Qt::DotLine));
    painter.drawLine(mark.line);
    if (mark.text_rect.isEmpty()) continue;
    painter.fillRect(mark.text_rect, colors_of(page_.theme).background);
    painter.setPen(color);
    painter.drawText(mark.text_rect, Qt::AlignLeft | Qt::AlignVCenter, mark.text);
  }
}

void ChartDrawing::paint_intervals(QPainter& painter, const DrawnSeries& series) const {
  const double em = page_.em;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(
      QPen(series.style.color(page_.theme), 0.75 * line_width * em, Qt::SolidLine, Qt::FlatCap));
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

void ChartDrawing::paint_legend(QPainter& painter, int focused_series) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  for (const LegendEntry& entry : legend_) {
    const DrawnSeries& series = series_[static_cast<std::size_t>(entry.series)];
    const double y = entry.text_rect.top() + 0.68 * em;
    const double left = entry.rect.left();
    // A hidden series keeps its colour and loses its strength.
    painter.setOpacity(series.visible ? 1.0 : 0.35);
    painter.setPen(series.style.pen(page_.theme, line_width * em));
    painter.drawLine(QPointF(left, y), QPointF(left + 2.5 * em, y));
    draw_marker(painter, series.style.marker, QPointF(left + 1.25 * em, y), marker_size * em,
                series.style.color(page_.theme), colors.background);
    painter.setOpacity(1.0);
    painter.setPen(series.visible ? colors.text : colors.faint_text);
    draw_lines(painter, figure_font(em), entry.text_rect, entry.text);
    if (entry.series == focused_series) {
      painter.setPen(QPen(colors.selected, hair_width * em));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(entry.rect.adjusted(-0.2 * em, 0, 0.1 * em, 0));
    }
  }
}

// Qt Charts' own lengths are those of a screen, so that paper, whose units are finer, is drawn on a
// smaller scene.
void ChartDrawing::paint_plot(QPainter& painter) const {
  constexpr double largest_em = 40, em_on_scene = 12;
  const double unit = page_.em > largest_em ? em_on_scene / page_.em : 1;
  const QRectF paper = rect();
  const QRectF scene_rect(paper.topLeft() * unit, paper.size() * unit);

  QGraphicsScene scene;
  scene.setItemIndexMethod(QGraphicsScene::NoIndex);
  auto* chart = new QChart;
  scene.addItem(chart);
  chart->legend()->hide();
  chart->setBackgroundVisible(false);
  chart->layout()->setContentsMargins(0, 0, 0, 0);
  chart->setMargins({});
  chart->setGeometry(scene_rect);
  chart->setPlotArea(QRectF((plot_.topLeft() - paper.topLeft()) * unit, plot_.size() * unit));

  QCategoryAxis* const x = add_axis(*chart, x_axis_, Qt::AlignBottom, page_, unit);
  QCategoryAxis* const y = add_axis(*chart, y_axis_, Qt::AlignLeft, page_, unit);
  for (const DrawnSeries& series : series_) {
    if (!series.visible) continue;
    for (const QPolygonF& line : series.lines) {
      QList<QPointF> places;
      for (const QPointF& point : line) {
        places.append({(point.x() - plot_.left()) / plot_.width(),
                       (plot_.bottom() - point.y()) / plot_.height()});
      }
      auto* drawn = new QLineSeries;
      drawn->setPen(series.style.pen(page_.theme, line_width * page_.em * unit));
      drawn->replace(places);
      chart->addSeries(drawn);
      drawn->attachAxis(x);
      drawn->attachAxis(y);
    }
  }
  // Layers belong to the chart as its other items do.
  new Layer(chart, below_grid, paper, unit, [&](QPainter& on) { paint_minor_grid(on); });
  new Layer(chart, below_series, paper, unit, [&](QPainter& on) { paint_below_lines(on); });
  new Layer(chart, above_series, paper, unit, [&](QPainter& on) { paint_markers(on); });
  chart->layout()->invalidate();  // else axes stay where they were before the plot had its place
  chart->layout()->activate();
  painter.setBrush(Qt::NoBrush);  // lines are painted with the one that is set
  scene.render(&painter, paper, scene_rect, Qt::IgnoreAspectRatio);
}

}  // namespace attnscope::charts
