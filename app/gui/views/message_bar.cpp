// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/message_bar.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QResizeEvent>
#include <QToolButton>
#include <utility>

#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int shown_ms = 8000;  // for completed actions; errors stay

}  // namespace

MessageBar::MessageBar(QWidget* page)
    : QFrame(page),
      page_(page),
      label_(new QLabel),
      fix_(new QPushButton),
      close_(new QToolButton) {
  label_->setWordWrap(true);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label_->setTextFormat(Qt::PlainText);
  close_->setText(QStringLiteral("✕"));
  close_->setAutoRaise(true);
  close_->setToolTip(tr("Close this message"));
  close_->setAccessibleName(tr("Close this message"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(space::margin, space::gap, space::gap, space::gap);
  sentence_ = new QBoxLayout(QBoxLayout::LeftToRight);
  sentence_->addWidget(label_, 1);
  sentence_->addWidget(fix_);
  layout->addLayout(sentence_, 1);
  layout->addWidget(close_);
  setAutoFillBackground(true);
  connect(close_, &QToolButton::clicked, this, &MessageBar::clear);
  connect(fix_, &QPushButton::clicked, this, [this] {
    if (!offered_) return Q_EMIT fix_requested();
    const std::function<void()> act = std::exchange(offered_, nullptr);
    clear();
    act();
  });
  if (page != nullptr) page->installEventFilter(this);
  gone_.setSingleShot(true);
  gone_.setInterval(shown_ms);
  connect(&gone_, &QTimer::timeout, this, &MessageBar::clear);
  hide();
}

bool MessageBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == page_) lie_at_the_foot();
  // The click itself is passed on to the widget below.
  if (event->type() == QEvent::MouseButtonPress && isVisible() && !stays() &&
      rect().contains(
          mapFromGlobal(static_cast<const QMouseEvent*>(event)->globalPosition().toPoint()))) {
    clear();
  }
  return QFrame::eventFilter(watched, event);
}

void MessageBar::resizeEvent(QResizeEvent* event) {
  arrange(event->size().width());
  QFrame::resizeEvent(event);
}

void MessageBar::arrange(int width) {
  const bool leaves_room = width >= 3 * fix_->sizeHint().width();
  sentence_->setDirection(leaves_room ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  sentence_->setAlignment(fix_, leaves_room ? Qt::Alignment() : Qt::AlignLeft);
}

bool MessageBar::stays() const {
  return !close_->isHidden();
}

void MessageBar::lie_at_the_foot() {
  if (isHidden() || page_ == nullptr) return;
  arrange(page_->width());
  const int height = layout()->totalHeightForWidth(page_->width());
  page_->setContentsMargins(0, 0, 0, stays() ? height : 0);
  setGeometry(0, page_->height() - height, page_->width(), height);
  raise();
}

void MessageBar::show_error(const QString& sentence, const QString& fix) {
  show_sentence(sentence, fix, true);
}

void MessageBar::show_info(const QString& sentence) {
  show_sentence(sentence, {}, false);
  gone_.start();
}

void MessageBar::show_offer(const QString& sentence, const QString& button,
                            const QKeySequence& shortcut, std::function<void()> act) {
  show_sentence(sentence, button, false);
  offered_ = std::move(act);
  fix_->setShortcut(shortcut);
  const QString keys = shortcut.toString(QKeySequence::NativeText);
  fix_->setToolTip(keys.isEmpty() ? button : QStringLiteral("%1 (%2)").arg(button, keys));
}

void MessageBar::show_sentence(const QString& sentence, const QString& fix, bool error) {
  is_error_ = error;
  gone_.stop();
  offered_ = nullptr;
  fix_->setShortcut({});
  fix_->setToolTip({});
  label_->setText(sentence);
  setAccessibleName(sentence);
  fix_->setText(fix);
  fix_->setVisible(!fix.isEmpty());
  const bool lets_through = page_ != nullptr && !error && fix.isEmpty();
  close_->setVisible(!lets_through);
  setAttribute(Qt::WA_TransparentForMouseEvents, lets_through);
  if (lets_through) qApp->installEventFilter(this);
  paint_ground();
  arrange(width());
  show();
  lie_at_the_foot();
  if (error) Q_EMIT error_shown();
}

void MessageBar::clear() {
  label_->clear();
  hide();
  qApp->removeEventFilter(this);
  if (page_ != nullptr) page_->setContentsMargins(0, 0, 0, 0);
}

QString MessageBar::text() const {
  return label_->text();
}

QString MessageBar::error() const {
  return is_error_ ? text() : QString();
}

void MessageBar::paint_ground() {
  // Sets only the background, so that all else follows the theme.
  const QPalette around = parentWidget() ? parentWidget()->palette() : QApplication::palette();
  const QColor ground = is_error_ ? error_ground(around) : info_ground(around);
  if (ground == palette().color(QPalette::Window)) return;
  QPalette own;
  own.setColor(QPalette::Window, ground);
  setPalette(own);
}

void MessageBar::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paint_ground();
  if (event->type() == QEvent::FontChange) lie_at_the_foot();
}

}  // namespace attnscope::gui
