// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_view.h"

#include <QEvent>
#include <QFontInfo>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/charts/heat_image.h"

namespace attnscope::charts {
namespace {

TokenRange tokens_between(double first, double extent, std::int64_t tokens) {
  const auto begin =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(first)), 0, tokens - 1);
  return {begin, std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(first + extent)),
                                          begin + 1, tokens)};
}

/// The part of the weights that a viewport of so many pixels needs, at most one cell a pixel.
MapRegion region_of(const HeatViewport& viewport, std::int64_t tokens, double pixels) {
  MapRegion region;
  region.rows = tokens_between(viewport.row, viewport.extent, tokens);
  region.columns = tokens_between(viewport.column, viewport.extent, tokens);
  const auto cells = [&](TokenRange range) {
    const double wanted = static_cast<double>(range.size()) * pixels / viewport.extent;
    return std::clamp<std::int64_t>(std::llround(wanted), 1, range.size());
  };
  region.height = cells(region.rows);
  region.width = cells(region.columns);
  return region;
}

/// The map of all tokens is fine enough for the region.
bool suffices(const PooledMap& map, const MapRegion& region) {
  const auto cells_a_token = [](std::int64_t cells, TokenRange range) {
    return static_cast<double>(cells) / static_cast<double>(range.size());
  };
  return cells_a_token(map.region().width, map.region().columns) >=
         cells_a_token(region.width, region.columns) * (1 - 1e-9);
}

}  // namespace

HeatView::HeatView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Attention weights"));
  connect(&job_, &LatestJob::failed, this, &HeatView::show_message);
}

void HeatView::show_weights(std::shared_ptr<const WeightRows> weights,
                            std::shared_ptr<const HeadSummary> summary,
                            std::shared_ptr<const std::vector<TokenGroup>> groups) {
  if (!weights_ || weights_->tokens() != weights->tokens()) {
    viewport_ = {};
    chosen_rows_.clear();
  }
  weights_ = std::move(weights);
  summary_ = std::move(summary);
  groups_ = std::move(groups);
  message_.clear();
  setAccessibleDescription(tr("%1 tokens; rows attend to columns").arg(tokens()));
  hover(std::nullopt);
  render();
}

void HeatView::set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens) {
  texts_ = std::move(tokens);
  render();
}

void HeatView::show_message(const QString& message) {
  job_.drop();
  weights_.reset();
  summary_.reset();
  image_ = QImage();
  message_ = message;
  setAccessibleDescription(message);
  hover(std::nullopt);
  update();
}

void HeatView::set_title(const QString& title) {
  title_ = title;
  setAccessibleName(title.isEmpty() ? tr("Attention weights")
                                    : tr("Attention weights, %1").arg(title));
  update();
}

void HeatView::set_scale(const HeatScale& scale) {
  if (scale == scale_) return;
  scale_ = scale;
  render();
}

void HeatView::set_viewport(const HeatViewport& viewport) {
  if (viewport == viewport_) return;
  viewport_ = viewport;
  render();
}

void HeatView::set_chosen_rows(const std::vector<TokenRange>& rows) {
  chosen_rows_ = rows;
  update();
}

void HeatView::set_marked(qint64 query, qint64 key) {
  if (marked_ == std::pair(query, key)) return;
  marked_ = {query, key};
  update();
}

HeatViewport HeatView::shown() const {
  HeatViewport shown = viewport_;
  if (shown.extent <= 0) shown = {0, 0, static_cast<double>(std::max<qint64>(tokens(), 1))};
  return shown;
}

double HeatView::em_pixels() const {
  return QFontInfo(font()).pixelSize();
}

double HeatView::strip() const {
  return std::round(0.55 * em_pixels());
}

double HeatView::label_room() const {
  constexpr double room = 4.5, least_side = 26;  // of em
  const double em = em_pixels();
  return texts_ && std::min(width(), height()) >= least_side * em ? std::round(room * em) : 0;
}

QRectF HeatView::map_rect() const {
  const double em = em_pixels();
  const double axis = 1.25 * strip() + label_room();
  const double top = std::round((title_.isEmpty() ? 0.3 : 1.7) * em + axis);
  const double left = std::round(0.3 * em + axis);
  const double side =
      std::floor(std::max(8.0, std::min(width() - left - 0.3 * em, height() - top - 0.3 * em)));
  const double slack = std::max(0.0, std::floor((width() - left - 0.3 * em - side) / 2));
  return {left + slack, top, side, side};
}

void HeatView::render() {
  update();
  if (!weights_ || !isVisible()) return;
  const double pixels = map_rect().width() * devicePixelRatioF();
  const MapRegion region = region_of(shown(), tokens(), pixels);
  const ChartTheme theme = theme_of(palette());
  job_.start([this, weights = weights_, summary = summary_, scale = scale_, region,
              theme](const LatestJob::Token& token) {
    const std::optional<PooledMap> map =
        suffices(summary->map, region)
            ? std::optional(summary->map.pooled(region))
            : pool_region(*weights, region, [&] { return token.superseded(); });
    if (!map) return;
    token.deliver([this, region, image = heat_image(*map, scale, theme)] {
      image_ = image;
      image_region_ = region;
      update();
    });
  });
}

QSize HeatView::sizeHint() const {
  const int em = static_cast<int>(em_pixels());
  return {36 * em, 36 * em};
}

QSize HeatView::minimumSizeHint() const {
  const int em = static_cast<int>(em_pixels());
  return {8 * em, 10 * em};  // three beside each other in a window of 1000 points
}

QRectF HeatView::rows_rect(TokenRange rows) const {
  const HeatViewport seen = shown();
  const QRectF map = map_rect();
  const double scale = map.height() / seen.extent;
  return {map.left(), map.top() + (static_cast<double>(rows.begin) - seen.row) * scale, map.width(),
          static_cast<double>(rows.size()) * scale};
}

std::optional<std::pair<qint64, qint64>> HeatView::pair_at(QPointF position) const {
  const QRectF map = map_rect();
  if (!weights_ || !map.contains(position)) return std::nullopt;
  const HeatViewport seen = shown();
  const double scale = seen.extent / map.width();
  const auto row = static_cast<qint64>(seen.row + (position.y() - map.top()) * scale);
  const auto column = static_cast<qint64>(seen.column + (position.x() - map.left()) * scale);
  if (row >= tokens() || column >= tokens()) return std::nullopt;
  return std::pair(row, column);
}

QPointF HeatView::position_of(qint64 query, qint64 key) const {
  const HeatViewport seen = shown();
  const QRectF map = map_rect();
  const double scale = map.width() / seen.extent;
  return {map.left() + (static_cast<double>(key) + 0.5 - seen.column) * scale,
          map.top() + (static_cast<double>(query) + 0.5 - seen.row) * scale};
}

void HeatView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  render();
}

void HeatView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  // No higher than a square map of this width needs.
  setMaximumHeight(std::max(minimumSizeHint().height(),
                            width() + static_cast<int>(std::lround(1.4 * em_pixels()))));
  render();
}

void HeatView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) render();
  QWidget::changeEvent(event);
}

void HeatView::hover(std::optional<std::pair<qint64, qint64>> pair) {
  if (pair == hovered_) return;
  hovered_ = pair;
  update();
  Q_EMIT hovered(pair ? pair->first : -1, pair ? pair->second : -1);
}

void HeatView::mouseMoveEvent(QMouseEvent* event) {
  if (pan_from_) {
    pan_by(event->position() - *pan_from_);
    pan_from_ = event->position();
  } else if (band_from_) {
    const QRectF map = map_rect();
    const QPointF inside(map.left() + 1,
                         std::clamp(event->position().y(), map.top(), map.bottom() - 0.01));
    if (const auto pair = pair_at(inside)) band_to_ = pair->first;
    update();
  }
  hover(pair_at(event->position()));
}

void HeatView::mousePressEvent(QMouseEvent* event) {
  if (!weights_) return QWidget::mousePressEvent(event);
  const bool pans = event->button() == Qt::MiddleButton ||
                    (event->button() == Qt::LeftButton && event->modifiers() & Qt::ControlModifier);
  if (pans) {
    pan_from_ = event->position();
  } else if (const auto pair = pair_at(event->position());
             event->button() == Qt::LeftButton && pair) {
    band_from_ = pair->first;
    band_to_ = pair->first;
    update();
  }
}

void HeatView::mouseReleaseEvent(QMouseEvent* /*event*/) {
  pan_from_.reset();
  if (!band_from_ || !band_to_) return;
  const TokenRange rows{std::min(*band_from_, *band_to_), std::max(*band_from_, *band_to_) + 1};
  band_from_.reset();
  band_to_.reset();
  update();
  Q_EMIT rows_chosen(rows);
}

void HeatView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  band_from_.reset();
  show_all();
}

void HeatView::leaveEvent(QEvent* /*event*/) {
  hover(std::nullopt);
}

void HeatView::wheelEvent(QWheelEvent* event) {
  if (!weights_ || event->angleDelta().y() == 0) return QWidget::wheelEvent(event);
  zoom_about(event->position(), std::pow(1.25, event->angleDelta().y() / 120.0));
  hover(pair_at(event->position()));
  event->accept();
}

void HeatView::keyPressEvent(QKeyEvent* event) {
  const double step = map_rect().width() / 8;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom_by(1.5);
    case Qt::Key_Minus:
      return zoom_by(1 / 1.5);
    case Qt::Key_Home:
      return show_all();
    case Qt::Key_Left:
      return pan_by({step, 0});
    case Qt::Key_Right:
      return pan_by({-step, 0});
    case Qt::Key_Up:
      return pan_by({0, step});
    case Qt::Key_Down:
      return pan_by({0, -step});
    case Qt::Key_Escape:
      Q_EMIT choice_given_up();
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void HeatView::show_all() {
  move_to({});
}

void HeatView::zoom_by(double factor) {
  zoom_about(map_rect().center(), factor);
}

void HeatView::pan_by(QPointF pixels) {
  HeatViewport next = shown();
  const double scale = next.extent / map_rect().width();
  next.row -= pixels.y() * scale;
  next.column -= pixels.x() * scale;
  move_to(next);
}

// What lies under `position` stays there.
void HeatView::zoom_about(QPointF position, double factor) {
  const HeatViewport seen = shown();
  const QRectF map = map_rect();
  const QPointF share((position.x() - map.left()) / map.width(),
                      (position.y() - map.top()) / map.height());
  HeatViewport next;
  constexpr double fewest = 4;  // tokens along a side
  next.extent = std::max(seen.extent / factor, std::min(fewest, static_cast<double>(tokens())));
  next.row = seen.row + share.y() * (seen.extent - next.extent);
  next.column = seen.column + share.x() * (seen.extent - next.extent);
  move_to(next);
}

void HeatView::move_to(HeatViewport viewport) {
  if (!weights_) return;
  const auto all = static_cast<double>(tokens());
  if (viewport.extent >= all) viewport = {};
  viewport.row = std::clamp(viewport.row, 0.0, all - viewport.extent);
  viewport.column = std::clamp(viewport.column, 0.0, all - viewport.extent);
  if (viewport == viewport_) return;
  viewport_ = viewport;
  render();
  Q_EMIT viewport_changed(viewport_);
}

}  // namespace attnscope::charts
