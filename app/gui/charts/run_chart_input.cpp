// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of RunChart that hears mouse and keyboard.
#include <QAccessible>
#include <QApplication>
#include <QKeyEvent>
#include <QLineF>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/run_chart.h"

namespace attnscope::charts {
namespace {

constexpr double key_zoom = 1.5, wheel_zoom = 1.25;
constexpr double key_step = 0.1;  // of the plot

// Points first, then rail marks: the order of DrawnPoint::index.
std::vector<const DrawnPoint*> stops_of(const DrawnSeries& series) {
  std::vector<const DrawnPoint*> stops;
  stops.reserve(series.points.size() + series.rail.size());
  for (const DrawnPoint& point : series.points) stops.push_back(&point);
  for (const DrawnPoint& mark : series.rail) stops.push_back(&mark);
  std::ranges::stable_sort(stops, {}, [](const DrawnPoint* stop) { return stop->position.x(); });
  return stops;
}

bool is_own_key(const QKeyEvent& event) {
  constexpr Qt::KeyboardModifiers none = Qt::NoModifier;
  const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
  switch (event.key()) {
    case Qt::Key_T:
    case Qt::Key_I:
    case Qt::Key_X:
    case Qt::Key_E:
    case Qt::Key_0:
    case Qt::Key_Space:
    case Qt::Key_Minus:
      return modifiers == none;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return modifiers == none || modifiers == Qt::ShiftModifier;
    case Qt::Key_C:
      return modifiers == Qt::ControlModifier;
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      return modifiers == none || modifiers == Qt::ControlModifier;
    default:
      return false;
  }
}

}  // namespace

// While the chart has the focus its keys are its own, whatever the window uses them for.
bool RunChart::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && is_own_key(*static_cast<QKeyEvent*>(event))) {
    event->accept();
    return true;
  }
  return QWidget::event(event);
}

void RunChart::update_cursor(QPointF position) {
  if (drag_ == Drag::move) {
    setCursor(Qt::ClosedHandCursor);
  } else if (drawing().legend_at(position) != nullptr) {
    setCursor(Qt::PointingHandCursor);
  } else if (space_held_) {
    setCursor(Qt::OpenHandCursor);
  } else {
    setCursor(Qt::ArrowCursor);
  }
}

void RunChart::mouseMoveEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  if (drag_ == Drag::move) {
    const QRectF plot = drawing().plot();
    const QPointF moved = position - drag_now_;
    drag_now_ = position;
    move_view(-moved.x() / plot.width(), moved.y() / plot.height());
    return;
  }
  if (drag_ == Drag::frame) {
    drag_now_ = position;
    update();
    return;
  }
  const DrawnPoint* point = drawing().nearest(position, hover_radius * drawing().page().em);
  set_current(point == nullptr ? std::nullopt : std::optional(*point));
  update_cursor(position);
  const QString text = value_at(position);
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(event->globalPosition().toPoint(), text, this);
  }
}

void RunChart::mousePressEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  const bool left = event->button() == Qt::LeftButton;
  const LegendEntry* entry = left ? drawing().legend_at(position) : nullptr;
  if (entry != nullptr) {
    keyboard_series_ = entry->series;
    return toggle(figure_.series[static_cast<std::size_t>(entry->series)].style_key);
  }
  const bool moves = event->button() == Qt::MiddleButton || (left && space_held_);
  if ((!left && !moves) || !has_plot() || !drawing().plot().contains(position)) {
    return QWidget::mousePressEvent(event);
  }
  drag_ = moves ? Drag::move : Drag::frame;
  space_moved_ = space_moved_ || space_held_;
  drag_start_ = drag_now_ = position;
  set_current(std::nullopt);
  update_cursor(position);
}

void RunChart::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = drag_;
  drag_ = Drag::none;
  if (drag == Drag::none) return QWidget::mouseReleaseEvent(event);
  if (drag == Drag::frame) {
    const double moved = QLineF(drag_start_, event->position()).length();
    const DrawnPoint* point =
        moved < QApplication::startDragDistance()
            ? drawing().nearest(event->position(), hover_radius * drawing().page().em)
            : nullptr;
    if (point != nullptr && point->cell >= 0) {
      Q_EMIT cell_chosen(point->cell);
    } else {
      zoom_into(QRectF(drag_start_, event->position()).normalized());
    }
  }
  update_cursor(event->position());
  update();
}

void RunChart::mouseDoubleClickEvent(QMouseEvent* event) {
  const bool on_plot = plot_ && drawing().plot().contains(event->position());
  if (event->button() != Qt::LeftButton || !on_plot) return mousePressEvent(event);
  reset_zoom();
}

void RunChart::wheelEvent(QWheelEvent* event) {
  const QPointF position = event->position();
  const double turns = event->angleDelta().y() / 120.0;
  const QRectF plot = has_plot() ? drawing().plot() : QRectF();
  const double em = drawing().page().em;
  const bool over = plot.adjusted(-plot.left(), 0, 0, 3 * em).contains(position);
  // Out of the whole chart there is no way: the page around it may scroll.
  if (turns == 0 || !over || (turns < 0 && !is_zoomed())) return event->ignore();
  Axes axes = Axes::both;
  if (position.y() > plot.bottom()) axes = Axes::x;
  if (position.x() < plot.left()) axes = Axes::y;
  zoom_axes(std::pow(wheel_zoom, turns), position, axes);
  event->accept();
}

void RunChart::leaveEvent(QEvent* /*event*/) {
  set_current(std::nullopt);
}

void RunChart::focusOutEvent(QFocusEvent* event) {
  space_held_ = false;
  drag_ = Drag::none;
  QWidget::focusOutEvent(event);
}

bool RunChart::press_view_key(const QKeyEvent& event) {
  const bool control = event.modifiers().testFlag(Qt::ControlModifier);
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(key_zoom, current_ ? std::optional(current_->position) : std::nullopt);
      return true;
    case Qt::Key_Minus:
      zoom(1 / key_zoom);
      return true;
    case Qt::Key_0:
      reset_zoom();
      return true;
    case Qt::Key_Left:
    case Qt::Key_Right:
      if (!control) return false;
      move_view(event.key() == Qt::Key_Left ? -key_step : key_step, 0);
      return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (!control) return false;
      move_view(0, event.key() == Qt::Key_Down ? -key_step : key_step);
      return true;
    default:
      return false;
  }
}

bool RunChart::press_tool_key(const QKeyEvent& event) {
  switch (event.key()) {
    case Qt::Key_T:
      show_table();
      return true;
    case Qt::Key_I:
      choose_intervals(!intervals_);
      return true;
    case Qt::Key_X:
      choose_crossovers(!crossovers_);
      return true;
    case Qt::Key_E:
      Q_EMIT export_wanted();
      return true;
    case Qt::Key_C:
      copy_numbers();
      return true;
    default:
      return false;
  }
}

void RunChart::keyPressEvent(QKeyEvent* event) {
  const bool own = is_own_key(*event);
  if (own && (press_view_key(*event) || press_tool_key(*event))) return;
  switch (own || event->modifiers() == Qt::NoModifier ? event->key() : 0) {
    case Qt::Key_Up:
      step_series(-1);
      break;
    case Qt::Key_Down:
      step_series(+1);
      break;
    case Qt::Key_Left:
      step_point(-1);
      break;
    case Qt::Key_Right:
      step_point(+1);
      break;
    case Qt::Key_Space:
      // Held it turns a drag into a move; what it toggles waits for its release.
      if (!event->isAutoRepeat()) {
        space_held_ = true;
        space_moved_ = false;
      }
      return;
    case Qt::Key_Return:
      if (current_ && current_->cell >= 0) {
        Q_EMIT cell_chosen(current_->cell);
        return;
      }
      if (keyboard_series_ < 0) return QWidget::keyPressEvent(event);
      toggle_keyboard_series();
      break;
    case Qt::Key_Escape:
      if (drag_ == Drag::none && keyboard_series_ < 0 && !current_) {
        return QWidget::keyPressEvent(event);
      }
      drag_ = Drag::none;
      keyboard_series_ = -1;
      set_current(std::nullopt);
      break;
    default:
      return QWidget::keyPressEvent(event);
  }
  describe();
  QAccessibleValueChangeEvent told(this, current_value());
  QAccessible::updateAccessibility(&told);
  update();
}

void RunChart::keyReleaseEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Space || event->isAutoRepeat()) {
    return QWidget::keyReleaseEvent(event);
  }
  const bool toggles = space_held_ && !space_moved_ && keyboard_series_ >= 0;
  space_held_ = false;
  if (toggles) toggle_keyboard_series();
}

void RunChart::toggle(const std::string& style_key) {
  const QString key = QString::fromStdString(style_key);
  const bool visible = !is_series_visible(key);
  set_series_visible(key, visible);
  Q_EMIT series_toggled(key, visible);
}

void RunChart::toggle_keyboard_series() {
  toggle(figure_.series[static_cast<std::size_t>(keyboard_series_)].style_key);
}

void RunChart::step_series(int direction) {
  const auto count = static_cast<int>(figure_.series.size());
  if (count == 0) return;
  keyboard_series_ = keyboard_series_ < 0 ? (direction > 0 ? 0 : count - 1)
                                          : (keyboard_series_ + direction + count) % count;
  set_current(std::nullopt);
}

void RunChart::step_point(int direction) {
  if (keyboard_series_ < 0) step_series(+1);
  if (keyboard_series_ < 0) return;
  const DrawnSeries& series = drawing().series()[static_cast<std::size_t>(keyboard_series_)];
  if (!series.visible) return;
  const std::vector<const DrawnPoint*> stops = stops_of(series);
  if (stops.empty()) return;
  auto at = std::ranges::find_if(stops, [this](const DrawnPoint* stop) {
    return current_ && current_->series == stop->series && current_->index == stop->index;
  });
  auto index = static_cast<int>(at - stops.begin());
  const auto count = static_cast<int>(stops.size());
  index = at == stops.end() ? (direction > 0 ? 0 : count - 1)
                            : std::clamp(index + direction, 0, count - 1);
  const DrawnPoint& stop = *stops[static_cast<std::size_t>(index)];
  set_current(stop);
  QToolTip::showText(mapToGlobal(stop.position.toPoint()), stop.text, this);
}

}  // namespace attnscope::charts
