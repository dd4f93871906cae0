// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/map_view.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {
namespace {

constexpr qint64 large_step = 10;                      // tokens, with Shift
constexpr double most_em = 4;                          // of a token at the largest zoom
constexpr double pan_share = 1 / 8.0;                  // of the map's side
constexpr double press_zoom = 1.5, notch_zoom = 1.25;  // of a key, of the wheel

/// Direction (right, down) of an arrow key; nothing for other keys.
std::optional<QPoint> direction_of(int key) {
  switch (key) {
    case Qt::Key_Left:
      return QPoint(-1, 0);
    case Qt::Key_Right:
      return QPoint(1, 0);
    case Qt::Key_Up:
      return QPoint(0, -1);
    case Qt::Key_Down:
      return QPoint(0, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

MapView::MapView(const QString& name, QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(name);
}

bool MapView::is_pair(Pair pair) const {
  if (!has_map() || pair.first < 0 || pair.second < 0) return false;
  const qint64 tokens = square().axis.tokens();
  return pair.first < tokens && pair.second < tokens;
}

std::optional<MapView::Pair> MapView::pair_at(QPointF position) const {
  return has_map() ? square().pair_at(position) : std::nullopt;
}

QPointF MapView::position_of(qint64 row, qint64 column) const {
  return has_map() ? square().cell(row, column).center() : QPointF();
}

void MapView::hover(std::optional<Pair> pair) {
  if (pair == hovered_) return;
  hovered_ = pair;
  setToolTip(pair ? explain_pair(*pair) : QString());
  update();
  Q_EMIT hovered(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MapView::keep_valid_pairs() {
  hover(std::nullopt);
  if (pinned_ && !is_pair(*pinned_)) pin(-1, -1);
}

void MapView::show_sentence(const QString& sentence) {
  message_ = sentence;
  setAccessibleDescription(sentence);
  hover(std::nullopt);
  update();
}

void MapView::pin(qint64 row, qint64 column) {
  std::optional<Pair> pair;
  if (is_pair({row, column})) pair = {row, column};
  if (pair == pinned_) return;
  pinned_ = pair;
  if (pair) keep_in_sight(*pair);
  describe();
  update();
  Q_EMIT pinned(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MapView::keep_in_sight(Pair pair) {
  if (focus_.tokens <= 0 || square().rect.contains(position_of(pair.first, pair.second))) return;
  zoom_to(square().axis.blocks().front().units_per_token, pair.first, pair.second);
  Q_EMIT focus_moved(focus_);
}

void MapView::set_focus(const MapFocus& focus) {
  if (!can_zoom() || focus == focus_) return;
  focus_ = focus;
  invalidate();
}

void MapView::move_to(const MapFocus& focus) {
  set_focus(focus);
  Q_EMIT focus_moved(focus_);
}

void MapView::show_all() {
  if (can_zoom()) move_to({});
}

void MapView::zoom_about(QPointF position, double factor) {
  const MapSquare& map = square();
  const double scale =
      std::min(map.axis.blocks().front().units_per_token * factor, most_em * em_of(font()));
  const QPointF inside = position - map.rect.topLeft();
  move_to(map.axis.enlarged(scale, inside.y(), inside.x()));
}

void MapView::zoom_by(double factor) {
  if (!has_map() || !can_zoom()) return;
  zoom_about(pinned_ ? position_of(pinned_->first, pinned_->second) : square().rect.center(),
             factor);
}

void MapView::zoom_to(double pixels, qint64 row, qint64 column) {
  if (!has_map() || !can_zoom()) return;
  const MapAxis& axis = square().axis;
  const auto place = [&](qint64 token) {
    return axis.place_at(axis.begin_of(token) + axis.extent_of(token) / 2);
  };
  set_focus({.tokens = axis.length() / pixels, .row = place(row), .column = place(column)});
}

// The larger side of the frame fills the map.
void MapView::frame(const QRectF& part) {
  const MapSquare& map = square();
  const QRectF inside = part.intersected(map.rect);
  const double side = std::max(inside.width(), inside.height());
  if (side < QApplication::startDragDistance()) return;
  const QPointF middle = inside.center() - map.rect.topLeft();
  const double fewest = map.axis.length() / (most_em * em_of(font()));
  move_to({.tokens = std::max(side / map.axis.blocks().front().units_per_token, fewest),
           .row = map.axis.place_at(middle.y() + map.axis.row_scroll()),
           .column = map.axis.place_at(middle.x() + map.axis.column_scroll())});
}

void MapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !has_map()) return QWidget::mousePressEvent(event);
  press_ = event->position();
  pinned_before_ = pinned_;
  if (!can_zoom()) return;
  if (event->modifiers() & Qt::ShiftModifier) {
    frame_ = QRectF(*press_, *press_);
  } else {
    drag_from_ = press_;
  }
}

void MapView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_from_ && has_map()) {
    const QPointF pixels = event->position() - *drag_from_;
    if (focus_.tokens > 0) move_to(square().axis.moved(-pixels.y(), -pixels.x()));
    drag_from_ = event->position();
  } else if (frame_) {
    frame_->setBottomRight(event->position());
    update();
  }
  hover(pair_at(event->position()));
}

// A press and a release at the same position are a click; otherwise the map was dragged.
void MapView::mouseReleaseEvent(QMouseEvent* event) {
  drag_from_.reset();
  const std::optional<QRectF> framed = std::exchange(frame_, std::nullopt);
  if (!press_ || !has_map()) return;
  const double moved = (event->position() - *press_).manhattanLength();
  press_.reset();
  if (moved >= QApplication::startDragDistance()) {
    if (framed) frame(framed->normalized());
    return update();
  }
  const auto pair = pair_at(event->position());
  if (!pair) return;
  if (pair == pinned_) {
    pin(-1, -1);
  } else {
    pin(pair->first, pair->second);
  }
}

void MapView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  const Pair before = pinned_before_.value_or(Pair(-1, -1));
  pin(before.first, before.second);
  show_all();
}

void MapView::leaveEvent(QEvent* /*event*/) {
  hover(std::nullopt);
}

void MapView::wheelEvent(QWheelEvent* event) {
  if (!has_map() || !can_zoom() || event->angleDelta().y() == 0) return QWidget::wheelEvent(event);
  zoom_about(event->position(), std::pow(notch_zoom, event->angleDelta().y() / 120.0));
  hover(pair_at(event->position()));
  event->accept();
}

void MapView::keyPressEvent(QKeyEvent* event) {
  if (has_map() && (move_pair(*event) || move_map(*event))) return event->accept();
  QWidget::keyPressEvent(event);
}

bool MapView::move_pair(const QKeyEvent& event) {
  if (event.key() == Qt::Key_Escape) {
    const bool was_pinned = pinned_.has_value();
    pin(-1, -1);
    if (!was_pinned) Q_EMIT pinned(-1, -1);
    return was_pinned;
  }
  const auto direction = direction_of(event.key());
  if (!direction || event.modifiers() & (Qt::ControlModifier | Qt::AltModifier)) return false;
  if (!pinned_) {
    const auto middle = pair_at(square().rect.center());
    const qint64 half = square().axis.tokens() / 2;
    pin(middle ? middle->first : half, middle ? middle->second : half);
    return true;
  }
  const qint64 step = event.modifiers() & Qt::ShiftModifier ? large_step : 1;
  const qint64 last = square().axis.tokens() - 1;
  pin(std::clamp<qint64>(pinned_->first + step * direction->y(), 0, last),
      std::clamp<qint64>(pinned_->second + step * direction->x(), 0, last));
  return true;
}

bool MapView::move_map(const QKeyEvent& event) {
  if (!can_zoom()) return false;
  if (const auto direction = direction_of(event.key())) {
    const double step = square().rect.width() * pan_share;
    move_to(square().axis.moved(step * direction->y(), step * direction->x()));
    return true;
  }
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom_by(press_zoom);
      return true;
    case Qt::Key_Minus:
      zoom_by(1 / press_zoom);
      return true;
    case Qt::Key_0:
      show_all();
      return true;
    default:
      return false;
  }
}

void MapView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const ThemeColors& colors = colors_of(theme());
  if (!has_map()) {
    const double em = em_of(font());
    painter.fillRect(rect(), colors.background);
    painter.setFont(figure_font(em));
    painter.setPen(colors.faint_text);
    painter.drawText(QRectF(rect()).adjusted(em, em, -em, -em), Qt::AlignCenter | Qt::TextWordWrap,
                     message_);
    return;
  }
  paint_map(painter);
  if (pinned_) paint_pair(painter, *pinned_, true);
  if (hovered_ && hovered_ != pinned_) paint_pair(painter, *hovered_, false);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setBrush(Qt::NoBrush);
  if (frame_) {
    painter.setPen(QPen(colors.selected, 1, Qt::DashLine));
    painter.drawRect(frame_->intersected(square().rect));
  }
  if (hasFocus()) {
    painter.setPen(QPen(colors.selected, 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

// The pinned pair has a cross along its row and column; the hovered one only a box.
void MapView::paint_pair(QPainter& painter, Pair pair, bool is_pinned) const {
  const QColor color = colors_of(theme()).selected;
  const QRectF cell = square().cell(pair.first, pair.second);
  const QRectF& area = square().rect;
  painter.save();
  painter.setClipRect(area.adjusted(-2, -2, 2, 2));
  painter.setBrush(Qt::NoBrush);
  if (is_pinned) {
    painter.setPen(QPen(color, 1, Qt::DashLine));
    const QPointF center = cell.center();
    painter.drawLine(QPointF(area.left(), center.y()), QPointF(cell.left(), center.y()));
    painter.drawLine(QPointF(center.x(), area.top()), QPointF(center.x(), cell.top()));
  }
  painter.setPen(QPen(color, is_pinned ? 3 : 2));
  const double grow = std::max(0.0, (5 - cell.width()) / 2);  // a smaller box would not be visible
  painter.drawRect(cell.adjusted(-grow, -grow, grow, grow));
  painter.restore();
}

void MapView::resizeEvent(QResizeEvent* /*event*/) {
  invalidate();
}

void MapView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) invalidate();
  QWidget::changeEvent(event);
}

}  // namespace attnscope::charts
