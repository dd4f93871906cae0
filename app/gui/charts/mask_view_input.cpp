// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a person does with a MaskView: point, pin, zoom, pan; by mouse and by keyboard alike.
#include <QApplication>
#include <QFontInfo>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/mask_view.h"

namespace attnscope::charts {
namespace {

constexpr qint64 large_step = 10;      // tokens, with Shift
constexpr double most_em = 4;          // of a token, zoomed in
constexpr double pan_share = 1 / 8.0;  // of the mask's side

}  // namespace

void MaskView::hover(std::optional<std::pair<qint64, qint64>> pair) {
  if (pair == hovered_) return;
  hovered_ = pair;
  setToolTip(pair ? explain(pair->first, pair->second) : QString());
  update();
  Q_EMIT hovered(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MaskView::pin(qint64 query_token, qint64 key_token) {
  std::optional<std::pair<qint64, qint64>> pair;
  if (is_pair(query_token, key_token)) pair = {query_token, key_token};
  if (pair == pinned_) return;
  pinned_ = pair;
  if (pair) keep_in_sight(*pair);
  describe();
  update();
  Q_EMIT pinned(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MaskView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_from_) {
    pan_by(event->position() - *drag_from_);
    drag_from_ = event->position();
  }
  hover(pair_at(event->position()));
}

void MaskView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !problem_) return QWidget::mousePressEvent(event);
  press_ = event->position();
  if (style_ == MaskStyle::true_scale) drag_from_ = event->position();
}

// A press and a release at one place is a click; in between, the mask was dragged.
void MaskView::mouseReleaseEvent(QMouseEvent* event) {
  drag_from_.reset();
  if (!press_) return;
  const double moved = (event->position() - *press_).manhattanLength();
  press_.reset();
  if (moved >= QApplication::startDragDistance()) return;
  const auto pair = pair_at(event->position());
  if (!pair) return;
  if (pair == pinned_) {
    pin(-1, -1);
  } else {
    pin(pair->first, pair->second);
  }
}

void MaskView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  show_all();
}

void MaskView::leaveEvent(QEvent* /*event*/) {
  hover(std::nullopt);
}

void MaskView::wheelEvent(QWheelEvent* event) {
  if (!problem_ || style_ != MaskStyle::true_scale || event->angleDelta().y() == 0) {
    return QWidget::wheelEvent(event);
  }
  zoom_about(event->position(), std::pow(1.25, event->angleDelta().y() / 120.0));
  hover(pair_at(event->position()));
  event->accept();
}

void MaskView::keyPressEvent(QKeyEvent* event) {
  if (problem_ && (move_pair(event) || move_mask(event))) return event->accept();
  QWidget::keyPressEvent(event);
}

bool MaskView::move_pair(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && pinned_) {
    pin(-1, -1);
    return true;
  }
  if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) return false;
  const qint64 step = (event->modifiers() & Qt::ShiftModifier) ? large_step : 1;
  qint64 rows = 0;
  qint64 columns = 0;
  switch (event->key()) {
    case Qt::Key_Left:
      columns = -step;
      break;
    case Qt::Key_Right:
      columns = step;
      break;
    case Qt::Key_Up:
      rows = -step;
      break;
    case Qt::Key_Down:
      rows = step;
      break;
    default:
      return false;
  }
  if (!pinned_) {
    const auto middle = pair_at(drawing().cells_rect().center());
    const qint64 half = problem_->tokens() / 2;
    pin(middle ? middle->first : half, middle ? middle->second : half);
    return true;
  }
  const qint64 last = problem_->tokens() - 1;
  pin(std::clamp<qint64>(pinned_->first + rows, 0, last),
      std::clamp<qint64>(pinned_->second + columns, 0, last));
  return true;
}

bool MaskView::move_mask(QKeyEvent* event) {
  if (style_ != MaskStyle::true_scale) return false;
  const QRectF cells = drawing().cells_rect();
  const double step = cells.width() * pan_share;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_Minus: {
      const QPointF about = pinned_ ? position_of(pinned_->first, pinned_->second) : cells.center();
      zoom_about(about, event->key() == Qt::Key_Minus ? 1 / 1.5 : 1.5);
      return true;
    }
    case Qt::Key_Home:
      show_all();
      return true;
    case Qt::Key_Left:
      pan_by({step, 0});
      return true;
    case Qt::Key_Right:
      pan_by({-step, 0});
      return true;
    case Qt::Key_Up:
      pan_by({0, step});
      return true;
    case Qt::Key_Down:
      pan_by({0, -step});
      return true;
    default:
      return false;
  }
}

void MaskView::keep_in_sight(std::pair<qint64, qint64> pair) {
  if (style_ != MaskStyle::true_scale || viewport_.scale <= 0) return;
  if (drawing().cells_rect().contains(position_of(pair.first, pair.second))) return;
  zoom_to(drawing().axis().blocks().front().units_per_token, pair.first, pair.second);
  Q_EMIT focus_moved(focus());
}

void MaskView::show_all() {
  viewport_ = {};
  invalidate();
  Q_EMIT focus_moved({});
}

void MaskView::pan_by(QPointF pixels) {
  if (!problem_) return;
  viewport_.row = drawing().axis().row_scroll() - pixels.y();
  viewport_.column = drawing().axis().column_scroll() - pixels.x();
  invalidate();
  Q_EMIT focus_moved(focus());
}

// What lies under `position` stays there.
void MaskView::zoom_about(QPointF position, double factor) {
  const MaskDrawing& mask = drawing();
  const MaskAxis& axis = mask.axis();
  const QPointF inside = position - mask.cells_rect().topLeft();
  const AxisPlace row = axis.place_at(inside.y() + axis.row_scroll());
  const AxisPlace column = axis.place_at(inside.x() + axis.column_scroll());
  MaskViewport next;
  next.scale = std::min(axis.blocks().front().units_per_token * factor,
                        most_em * QFontInfo(font()).pixelSize());
  const MaskAxis zoomed(*problem_, style_, axis.length(), mask.gap(), next);
  next.row = zoomed.position_of(row) - inside.y();
  next.column = zoomed.position_of(column) - inside.x();
  if (zoomed.total() <= zoomed.length() * (1 + 1e-9)) next = {};
  viewport_ = next;
  invalidate();
  Q_EMIT focus_moved(focus());
}

void MaskView::zoom_to(double pixels_per_token, qint64 query_token, qint64 key_token) {
  if (!problem_ || style_ != MaskStyle::true_scale) return;
  const MaskDrawing& mask = drawing();
  MaskViewport next;
  next.scale = pixels_per_token;
  const MaskAxis zoomed(*problem_, style_, mask.axis().length(), mask.gap(), next);
  const auto scroll = [&](qint64 token) {
    return zoomed.begin_of(token) + zoomed.extent_of(token) / 2 - zoomed.length() / 2;
  };
  next.row = scroll(query_token);
  next.column = scroll(key_token);
  viewport_ = next;
  invalidate();
}

MaskFocus MaskView::focus() const {
  if (!problem_ || viewport_.scale <= 0) return {};
  const MaskAxis& axis = drawing().axis();
  return {.tokens = axis.length() / axis.blocks().front().units_per_token,
          .row = axis.place_at(axis.row_scroll() + axis.length() / 2),
          .column = axis.place_at(axis.column_scroll() + axis.length() / 2)};
}

void MaskView::set_focus(const MaskFocus& focus) {
  if (!problem_ || style_ != MaskStyle::true_scale) return;
  MaskViewport next;
  if (focus.tokens > 0) {
    const MaskDrawing& mask = drawing();
    next.scale = mask.axis().length() / focus.tokens;
    const MaskAxis zoomed(*problem_, style_, mask.axis().length(), mask.gap(), next);
    next.row = zoomed.position_of(focus.row) - zoomed.length() / 2;
    next.column = zoomed.position_of(focus.column) - zoomed.length() / 2;
  }
  viewport_ = next;
  invalidate();
}

}  // namespace attnscope::charts
