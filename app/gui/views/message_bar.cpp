// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/message_bar.h"

#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "app/gui/views/theme.h"

namespace attnscope::gui {

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent), label_(new QLabel), mend_(new QPushButton), close_(new QToolButton) {
  label_->setWordWrap(true);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label_->setTextFormat(Qt::PlainText);
  close_->setText(QStringLiteral("✕"));
  close_->setAutoRaise(true);
  close_->setToolTip(tr("Close this message"));
  close_->setAccessibleName(tr("Close this message"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 8, 8, 8);
  layout->addWidget(label_, 1);
  layout->addWidget(mend_);
  layout->addWidget(close_);
  setAutoFillBackground(true);
  connect(close_, &QToolButton::clicked, this, &MessageBar::clear);
  connect(mend_, &QPushButton::clicked, this, &MessageBar::mend_asked);
  hide();
}

void MessageBar::show_error(const QString& sentence, const QString& mend) {
  show_sentence(sentence, mend, true);
}

void MessageBar::show_info(const QString& sentence) {
  show_sentence(sentence, {}, false);
}

void MessageBar::show_sentence(const QString& sentence, const QString& mend, bool error) {
  is_error_ = error;
  label_->setText(sentence);
  setAccessibleName(sentence);
  mend_->setText(mend);
  mend_->setVisible(!mend.isEmpty());
  paint_ground();
  show();
  if (error) Q_EMIT error_shown();
}

void MessageBar::clear() {
  label_->clear();
  hide();
}

QString MessageBar::text() const {
  return label_->text();
}

QString MessageBar::error() const {
  return is_error_ ? text() : QString();
}

void MessageBar::paint_ground() {
  // From the application's palette: this widget's own already carries the message's ground.
  QPalette changed = QGuiApplication::palette();
  changed.setColor(QPalette::Window, is_error_ ? error_ground(changed) : info_ground(changed));
  if (changed.color(QPalette::Window) != palette().color(QPalette::Window) ||
      changed.color(QPalette::WindowText) != palette().color(QPalette::WindowText)) {
    setPalette(changed);
  }
}

void MessageBar::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::ApplicationPaletteChange) paint_ground();
}

}  // namespace attnscope::gui
