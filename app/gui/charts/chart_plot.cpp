// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/chart_plot.h"

#include <QCategoryAxis>
#include <QChart>
#include <QGraphicsItem>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QLineSeries>
#include <functional>
#include <utility>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

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

void paint_plot(const ChartDrawing& drawing, QPainter& painter) {
  constexpr double largest_em = 40, em_on_scene = 12;
  const ChartDrawing::Page& page = drawing.page();
  const QRectF& plot = drawing.plot();
  const double unit = page.em > largest_em ? em_on_scene / page.em : 1;
  const QRectF paper = drawing.rect();
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
  chart->setPlotArea(QRectF((plot.topLeft() - paper.topLeft()) * unit, plot.size() * unit));

  QCategoryAxis* const x = add_axis(*chart, drawing.x_axis(), Qt::AlignBottom, page, unit);
  QCategoryAxis* const y = add_axis(*chart, drawing.y_axis(), Qt::AlignLeft, page, unit);
  for (const DrawnSeries& series : drawing.series()) {
    if (!series.visible) continue;
    for (const QPolygonF& line : series.lines) {
      auto* drawn = new QLineSeries;
      drawn->setPen(series.style.pen(page.theme, line_width * page.em * unit));
      for (const QPointF& point : line) {
        drawn->append((point.x() - plot.left()) / plot.width(),
                      (plot.bottom() - point.y()) / plot.height());
      }
      chart->addSeries(drawn);
      drawn->attachAxis(x);
      drawn->attachAxis(y);
    }
  }
  // Layers belong to the chart as its other items do.
  new Layer(chart, below_grid, paper, unit, [&](QPainter& on) { drawing.paint_minor_grid(on); });
  new Layer(chart, below_series, paper, unit, [&](QPainter& on) { drawing.paint_below_lines(on); });
  new Layer(chart, above_series, paper, unit, [&](QPainter& on) { drawing.paint_markers(on); });
  chart->layout()->invalidate();  // else axes stay where they were before the plot had its place
  chart->layout()->activate();
  painter.setBrush(Qt::NoBrush);  // lines are painted with the one that is set
  scene.render(&painter, paper, scene_rect, Qt::IgnoreAspectRatio);
}

}  // namespace attnscope::charts
