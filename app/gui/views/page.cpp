// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/page.h"

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QPushButton>
#include <QResizeEvent>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

QAction* action(QObject* parent, const QString& text, const QString& shortcut) {
  auto* made = new QAction(text, parent);
  made->setShortcut(QKeySequence(shortcut));
  made->setToolTip(QStringLiteral("%1 (%2)").arg(text, made->shortcut().toString()));
  return made;
}

/// A push button that follows its action: text (or the shorter text in its data), tool tip and
/// enabled state. A tool button on a tool bar would look like a label.
QPushButton* button_of(QAction* action) {
  auto* button = new QPushButton;
  const auto follow = [button, action] {
    button->setText(action->data().isValid() ? action->data().toString() : action->text());
    button->setToolTip(action->toolTip());
    button->setEnabled(action->isEnabled());
  };
  QObject::connect(action, &QAction::changed, button, follow);
  QObject::connect(button, &QPushButton::clicked, action, &QAction::trigger);
  follow();
  return button;
}

}  // namespace

CommandBar::CommandBar(QWidget* parent)
    : QToolBar(parent),
      run_(action(this, tr("New run…"), tr("Ctrl+Return"))),
      cancel_(action(this, tr("Cancel run"), tr("Ctrl+."))),
      copy_(action(this, tr("Copy table"), tr("Ctrl+Shift+C"))),
      export_(action(this, tr("Export figure…"), tr("Ctrl+Shift+E"))),
      device_(picker(QStringLiteral("device"), tr("Device that runs are measured on"), {})),
      baseline_(picker(QStringLiteral("page_baseline"), tr("Baseline"),
                       tr("The baseline of the others' times and memory"))) {
  setObjectName(QStringLiteral("commands"));
  setWindowTitle(tr("Commands"));
  setMovable(false);
  setContextMenuPolicy(Qt::PreventContextMenu);
  setToolButtonStyle(Qt::ToolButtonTextOnly);

  // Pages set a longer text, which fits in the menu and the tool tip.
  run_->setData(run_->text());
  run_button_ = add_button(run_, "run");
  run_button_->setDefault(true);
  add_picker(tr("&Device"), device_);
  add_picker(tr("&Baseline"), baseline_);
  baseline_place_ = actions().constLast();
  auto* gap = new QWidget;
  gap->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  addWidget(gap);
  add_button(cancel_, "cancel");
  cancel_place_ = actions().constLast();
  auto* button = new QPushButton(copy_->text());
  button->setObjectName(QStringLiteral("copy"));
  auto* formats = new QMenu(button);
  for (const report::TableFormatName& entry : report::table_formats()) {
    formats->addAction(tr("As %1").arg(qstring(entry.title)), this,
                       [this, format = entry.format] { copy_table(format); });
  }
  button->setMenu(formats);
  const auto follow = [this, button] {
    button->setEnabled(copy_->isEnabled());
    button->setToolTip(
        tr("Copy the displayed table; %1 copies it as %2")
            .arg(copy_->shortcut().toString(), qstring(report::name_of(format_).title)));
  };
  follow();
  connect(formats, &QMenu::triggered, button, follow);
  connect(copy_, &QAction::changed, button, follow);
  addWidget(button);
  add_button(export_, "export_figure");

  device_->addItem(QStringLiteral("cpu"), QStringLiteral("cpu"));
  set_live({});
  connect(run_, &QAction::triggered, this, [this] {
    if (page_) page_->run();
  });
  cancel_->setToolTip(
      tr("Stop after the current iteration; finished heats stay (%1)").arg(tr("Ctrl+.")));
  connect(cancel_, &QAction::triggered, this, [this] {
    cancel_->setEnabled(false);
    cancel_->setText(tr("Stopping…"));
    Q_EMIT cancel_requested(live_);
  });
  connect(copy_, &QAction::triggered, this, [this] { copy_table(format_); });
  connect(export_, &QAction::triggered, this, [this] {
    if (page_) page_->export_figure();
  });
  connect(device_, &QComboBox::activated, this, [this] { Q_EMIT device_chosen(device()); });
  connect(baseline_, &QComboBox::activated, this, [this](int index) {
    if (page_) page_->set_baseline(index == 0 ? QString() : baseline_->itemText(index));
  });
}

QPushButton* CommandBar::add_button(QAction* action, const char* name) {
  QPushButton* button = button_of(action);
  button->setObjectName(QLatin1String(name));
  addWidget(button);
  return button;
}

void CommandBar::copy_table(report::TableFormat format) {
  format_ = format;
  if (page_) page_->copy_table(format);
}

void CommandBar::add_picker(const QString& caption, QComboBox* picker) {
  picker->setMinimumContentsLength(4);
  auto* both = new QWidget;
  auto* layout = new QHBoxLayout(both);
  layout->setContentsMargins(10, 0, 0, 0);
  auto* label = new QLabel(caption);
  label->setBuddy(picker);
  layout->addWidget(label);
  layout->addWidget(picker);
  addWidget(both);
}

void CommandBar::set_page(Page* page) {
  if (page_) page_->disconnect(this);
  page_ = page;
  connect(page_, &Page::offers_changed, this, &CommandBar::show_offers);
  show_offers();
}

void CommandBar::show_offers() {
  if (!page_) return;
  run_->setText(page_->run_text());
  run_->setEnabled(refused_.isEmpty());
  run_->setToolTip(refused_.isEmpty()
                       ? QStringLiteral("%1 (%2)").arg(run_->text(), run_->shortcut().toString())
                       : refused_);
  copy_->setEnabled(page_->has_table());
  export_->setEnabled(page_->has_figure());
  const QStringList choices = page_->baselines();
  const QSignalBlocker quiet(baseline_);
  baseline_->clear();
  baseline_->addItem(tr("none"));
  baseline_->addItems(choices);
  baseline_->setCurrentIndex(std::max(0, static_cast<int>(choices.indexOf(page_->baseline())) + 1));
  baseline_place_->setVisible(!choices.isEmpty());
}

void CommandBar::set_devices(const QList<ListedDevice>& devices) {
  const QString chosen = device();
  const QSignalBlocker quiet(device_);
  device_->clear();
  for (const ListedDevice& listed : devices) {
    device_->addItem(listed.kind, listed.kind);
    const int row = device_->count() - 1;
    device_->setItemData(row, listed.available ? listed.name : listed.reason, Qt::ToolTipRole);
    auto* model = qobject_cast<QStandardItemModel*>(device_->model());
    if (!listed.available && model) model->item(row)->setEnabled(false);
  }
  choose_device(chosen);
}

void CommandBar::choose_device(const QString& kind) {
  const int row = device_->findData(kind);
  const bool possible = row >= 0 && (device_->model()->flags(device_->model()->index(row, 0)) &
                                     Qt::ItemIsEnabled) != 0;
  if (possible) device_->setCurrentIndex(row);
  device_->setToolTip(device_->currentData(Qt::ToolTipRole).toString());
}

QString CommandBar::device() const {
  return device_->currentData().toString();
}

void CommandBar::set_live(const QString& uuid) {
  cancel_place_->setVisible(!uuid.isEmpty());
  if (std::exchange(live_, uuid) != uuid || uuid.isEmpty()) allow_cancel();
}

void CommandBar::allow_cancel() {
  cancel_->setText(tr("Cancel run"));
  cancel_->setEnabled(!live_.isEmpty());
}

void CommandBar::set_refused(const QString& reason) {
  refused_ = reason;
  show_offers();
}

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
  hide_timer_.setSingleShot(true);
  hide_timer_.setInterval(shown_ms);
  connect(&hide_timer_, &QTimer::timeout, this, &MessageBar::clear);
  hide();
}

bool MessageBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == page_) place_at_bottom();
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

void MessageBar::place_at_bottom() {
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
  hide_timer_.start();
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
  hide_timer_.stop();
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
  place_at_bottom();
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
  if (event->type() == QEvent::FontChange) place_at_bottom();
}

}  // namespace attnscope::gui
