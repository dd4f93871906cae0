// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <utility>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {
namespace {

/// Whether the map of all tokens has sufficient resolution for the region.
bool suffices(const PooledMap& map, const MapRegion& region) {
  const auto cells_a_token = [](std::int64_t cells, TokenRange range) {
    return static_cast<double>(cells) / static_cast<double>(range.size());
  };
  return cells_a_token(map.region().width, map.region().columns) >=
         cells_a_token(region.width, region.columns) * (1 - 1e-9);
}

TokenRange between(std::pair<qint64, qint64> rows) {
  return {std::min(rows.first, rows.second), std::max(rows.first, rows.second) + 1};
}

}  // namespace

HeatView::HeatView(QWidget* parent) : MapView(tr("Attention weights"), parent) {
  connect(&refiner_, &LatestJob::failed, this, &HeatView::show_message);
}

void HeatView::show_weights(std::shared_ptr<const WeightRows> weights,
                            std::shared_ptr<const HeadSummary> summary,
                            std::shared_ptr<const std::vector<TokenGroup>> groups) {
  if (along_.groups != groups) {
    forget_focus();
    chosen_rows_.clear();
  }
  weights_ = std::move(weights);
  summary_ = std::move(summary);
  along_.groups = std::move(groups);
  setAccessibleDescription(tr("%1 tokens; rows attend to columns").arg(tokens()));
  message_ = tr("Computing the weights.");
  invalidate();
  keep_valid_pairs();
}

void HeatView::set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens) {
  along_.texts = std::move(tokens);
  invalidate();
}

void HeatView::show_message(const QString& message) {
  refiner_.drop();
  weights_.reset();
  summary_.reset();
  cells_ = QImage();
  show_sentence(message);
}

void HeatView::set_title(const QString& title) {
  if (title == title_) return;
  title_ = title;
  setAccessibleName(title.isEmpty() ? tr("Attention weights")
                                    : tr("Attention weights, %1").arg(title));
  invalidate();
}

void HeatView::set_scale(const HeatScale& scale) {
  if (scale == scale_) return;
  scale_ = scale;
  invalidate();
}

void HeatView::set_chosen_rows(const std::vector<TokenRange>& rows) {
  chosen_rows_ = rows;
  update();
}

void HeatView::set_marked(qint64 column) {
  if (marked_ == column) return;
  marked_ = column;
  update();
}

const HeatDrawing& HeatView::drawing() const {
  if (!drawing_) {
    drawing_.emplace(along_, focus(),
                     HeatDrawing::Page{QSizeF(size()), em_of(font()), theme(), title_});
  }
  return *drawing_;
}

void HeatView::invalidate() {
  drawing_.reset();
  update();
  if (!weights_ || !isVisible()) return;
  refiner_.start([this, weights = weights_, summary = summary_, scale = scale_, theme = theme(),
                  region = drawing().region(devicePixelRatioF())](const LatestJob::Token& token) {
    const std::optional<PooledMap> map =
        suffices(summary->map, region)
            ? std::optional(summary->map.pooled(region))
            : pool_region(*weights, region, [&] { return token.superseded(); });
    if (!map) return;
    token.deliver([this, region, image = heat_image(*map, scale, theme)] {
      cells_ = image;
      region_ = region;
      update();
      Q_EMIT settled();
    });
  });
}

void HeatView::showEvent(QShowEvent* event) {
  MapView::showEvent(event);
  invalidate();
}

void HeatView::paint_map(QPainter& painter) {
  painter.fillRect(rect(), colors_of(theme()).background);
  drawing().paint(painter, cells_, region_);
  const QRectF& map = square().rect;
  const QRectF margin = row_margin();
  painter.save();
  painter.setClipRect(map.adjusted(-margin.width(), -margin.width(), 1, 1));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(theme()).selected, 2));
  const std::vector<TokenRange> band =
      band_ ? std::vector<TokenRange>{between(*band_)} : chosen_rows_;
  for (const TokenRange& rows : band) painter.drawRect(drawing().rows_rect(rows));
  if (marked_ >= 0) {
    const double x = square().cell(0, marked_).center().x();
    painter.setPen(QPen(colors_of(theme()).selected, 1));
    if (x >= map.left()) painter.drawLine(QPointF(x, map.top()), QPointF(x, map.bottom()));
  }
  painter.restore();
}

QSize HeatView::sizeHint() const {
  const int em = static_cast<int>(em_of(font()));
  return {36 * em, 36 * em};
}

// In points, not in letters: large text must not reduce the map. Three maps fit between the two
// sides of a page in a window of 1000 points.
QSize HeatView::minimumSizeHint() const {
  return {90, 110};
}

qint64 HeatView::row_at(double y) const {
  const QRectF& map = square().rect;
  const double inside = std::clamp(y, map.top(), map.bottom() - 0.01);
  return pair_at({map.left() + 1, inside}).value_or(Pair(0, 0)).first;
}

void HeatView::mousePressEvent(QMouseEvent* event) {
  const bool on_margin =
      has_map() && event->button() == Qt::LeftButton && row_margin().contains(event->position());
  if (!on_margin) return MapView::mousePressEvent(event);
  const qint64 row = row_at(event->position().y());
  band_ = {row, row};
  update();
}

void HeatView::mouseMoveEvent(QMouseEvent* event) {
  if (!band_ || !has_map()) return MapView::mouseMoveEvent(event);
  band_->second = row_at(event->position().y());
  update();
}

void HeatView::mouseReleaseEvent(QMouseEvent* event) {
  if (!band_) return MapView::mouseReleaseEvent(event);
  const TokenRange rows = between(*std::exchange(band_, std::nullopt));
  update();
  Q_EMIT rows_chosen(rows);
}

HeatBar::HeatBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  set_scale({});
}

void HeatBar::set_scale(const HeatScale& scale) {
  scale_ = scale;
  setAccessibleName(scale.difference ? tr("Colours of differences") : tr("Colours of weights"));
  setAccessibleDescription(tr("%1 to %2, %3")
                               .arg(weight_words(scale.value(0)), weight_words(scale.value(1)),
                                    scale.logarithmic ? tr("logarithmic") : tr("linear")));
  setToolTip(scale.difference ? tr("Weight under B minus weight under A")
                              : tr("Attention weight; of pairs that share a pixel, the largest"));
  update();
}

QSize HeatBar::sizeHint() const {
  return {12 * fontMetrics().averageCharWidth(), (5 * fontMetrics().height()) / 2};
}

QSize HeatBar::minimumSizeHint() const {
  return {9 * fontMetrics().averageCharWidth(), sizeHint().height()};
}

void HeatBar::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setFont(figure_font(em_of(font())));
  const double line = fontMetrics().height();
  paint_color_bar(painter, QRectF(1, 1, width() - 2, 0.7 * line), scale_, theme_of(palette()));
}

}  // namespace attnscope::charts
