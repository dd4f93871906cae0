// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/popup_button.h"

#include <QEvent>
#include <QFrame>
#include <QScreen>
#include <QStyleOptionButton>
#include <QVBoxLayout>
#include <algorithm>

namespace attnscope::gui {

PopupButton::PopupButton(QWidget* parent, QWidget* fields)
    : QPushButton(parent), frame_(new QFrame(this, Qt::Popup)) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  frame_->setFrameStyle(QFrame::StyledPanel);
  auto* layout = new QVBoxLayout(frame_);
  layout->setSizeConstraint(QLayout::SetFixedSize);  // follows the size of the fields
  frame_->installEventFilter(this);
  connect(this, &QPushButton::clicked, this, [this] { open(); });
  if (fields != nullptr) set_fields(fields);
}

void PopupButton::set_fields(QWidget* fields) {
  fields_ = fields;
  frame_->layout()->addWidget(fields_);
}

void PopupButton::say(const QString& text) {
  setText(QString(text).replace(QLatin1Char('&'), QLatin1String("&&")));
  setToolTip(QStringLiteral("%1: %2").arg(accessibleName(), text));
  setAccessibleDescription(text);
}

void PopupButton::open(QWidget* field) {
  frame_->adjustSize();
  const QRect room = screen()->availableGeometry();
  QPoint place = mapToGlobal(QPoint(0, height()));
  place.setX(
      std::clamp(place.x(), room.left(), std::max(room.left(), room.right() - frame_->width())));
  // Above the button if the screen has no room below it.
  if (place.y() + frame_->height() > room.bottom())
    place.setY(std::max(room.top(), mapToGlobal(QPoint()).y() - frame_->height()));
  frame_->move(place);
  frame_->show();
  for (QWidget* next = fields_; field == nullptr && (next = next->nextInFocusChain()) != fields_;) {
    if ((next->focusPolicy() & Qt::TabFocus) != 0 && next->isVisibleTo(frame_)) field = next;
  }
  if (field != nullptr) field->setFocus(Qt::PopupFocusReason);
}

// A press outside the fields only closes them: on this button it would reopen them.
bool PopupButton::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress) frame_->setAttribute(Qt::WA_NoMouseReplay);
  return QPushButton::eventFilter(watched, event);
}

int PopupButton::width_around_text(const QStyleOptionButton& option) const {
  return style()->pixelMetric(QStyle::PM_MenuButtonIndicator, &option, this) +
         2 * style()->pixelMetric(QStyle::PM_ButtonMargin, &option, this);
}

QSize PopupButton::sizeHint() const {
  QStyleOptionButton option;
  initStyleOption(&option);
  const int rounding = fontMetrics().averageCharWidth();
  return {fontMetrics().horizontalAdvance(text()) + width_around_text(option) + rounding,
          QPushButton::sizeHint().height()};
}

QSize PopupButton::minimumSizeHint() const {
  const QSize whole = sizeHint();
  return {std::min(whole.width(), 12 * fontMetrics().averageCharWidth()), whole.height()};
}

void PopupButton::initStyleOption(QStyleOptionButton* option) const {
  QPushButton::initStyleOption(option);
  option->features |= QStyleOptionButton::HasMenu;
  const int room = std::max(0, width() - width_around_text(*option));
  option->text = fontMetrics().elidedText(text(), Qt::ElideRight, room);
}

}  // namespace attnscope::gui
