// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/drawer.h"

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QStyle>
#include <algorithm>

#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int slide_ms = 120;
constexpr int left_of_page = 40;  // pixels of it that stay in sight

}  // namespace

Drawer::Drawer(int characters, QWidget* page)
    : QFrame(page), characters_(characters), page_(page), slide_(this, "pos") {
  setAutoFillBackground(true);
  slide_.setDuration(slide_ms);
  slide_.setEasingCurve(QEasingCurve::OutCubic);
  page->installEventFilter(this);
  hide();
}

QRect Drawer::place() const {
  const int wanted = characters_ * fontMetrics().averageCharWidth();
  const int width = std::min(wanted, std::max(page_->width() - left_of_page, page_->width() / 2));
  return {page_->width() - width, 0, width, page_->height()};
}

void Drawer::open() {
  if (isVisible()) {
    setFocus(Qt::OtherFocusReason);
    return;
  }
  focus_before_ = QApplication::focusWidget();
  const QRect there = place();
  setGeometry(there);
  raise();
  show();
  setFocus(Qt::OtherFocusReason);
  if (style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this) <= 0) return;
  slide_.setStartValue(there.topLeft() + QPoint(there.width() / 4, 0));
  slide_.setEndValue(there.topLeft());
  slide_.start();
}

void Drawer::shut() {
  if (!isVisible()) return;
  slide_.stop();
  hide();
  if (focus_before_ && focus_before_->isVisible()) focus_before_->setFocus(Qt::OtherFocusReason);
  Q_EMIT shut_down();
}

bool Drawer::eventFilter(QObject* watched, QEvent* event) {
  if (watched == page_ && event->type() == QEvent::Resize && isVisible()) {
    slide_.stop();
    setGeometry(place());
  }
  return QFrame::eventFilter(watched, event);
}

void Drawer::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return shut();
  QFrame::keyPressEvent(event);
}

void Drawer::paintEvent(QPaintEvent* event) {
  QFrame::paintEvent(event);
  QPainter painter(this);
  painter.fillRect(QRect(0, 0, 2, height()), hairline(palette()));
}

}  // namespace attnscope::gui
