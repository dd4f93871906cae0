// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/fields.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QFrame>
#include <QHeaderView>
#include <QLabel>
#include <QResizeEvent>
#include <QScreen>
#include <QScrollBar>
#include <QSettings>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStyleOptionButton>
#include <QStylePainter>
#include <QTableView>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWidget>
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

// Above every mask's length, so that no number is lost.
constexpr int infinite_window = 1'000'001;

bool means_infinite(const QString& word) {
  return word == QLatin1String("inf") || word == QStringLiteral("∞");
}

class WheelPasses : public QObject {
 public:
  using QObject::QObject;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    const auto* field = static_cast<const QWidget*>(watched);
    if (event->type() != QEvent::Wheel || field->hasFocus()) return false;
    event->ignore();
    return true;
  }
};

QString key_of(const QObject& widget) {
  return QStringLiteral("kept/") + widget.objectName();
}

}  // namespace

QLabel* heading(const QString& text, QWidget* buddy) {
  auto* label = new QLabel(text);
  set_text(label, TextSize::heading);
  label->setBuddy(buddy);
  label->setWordWrap(true);
  return label;
}

PlainLabel::PlainLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setWordWrap(true);
}

void set_up_table(QTableView* table) {
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setTabKeyNavigation(false);
  table->setCornerButtonEnabled(false);
  for (QHeaderView* header : {table->horizontalHeader(), table->verticalHeader()}) {
    header->setSectionsClickable(false);
  }
}

void let_wheel_pass(QWidget* field) {
  field->setFocusPolicy(Qt::StrongFocus);
  field->installEventFilter(new WheelPasses(field));
}

ReadingLabel::ReadingLabel(QWidget* parent, const char* name) : PlainLabel(parent) {
  setObjectName(QLatin1String(name));
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
}

LineLabel::LineLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
}

QSize LineLabel::minimumSizeHint() const {
  const int least = 12 * fontMetrics().averageCharWidth();
  return {std::min(least, sizeHint().width()), sizeHint().height()};
}

void LineLabel::paintEvent(QPaintEvent* /*event*/) {
  QStylePainter painter(this);
  painter.drawItemText(contentsRect(), Qt::AlignLeft | Qt::AlignVCenter, palette(), isEnabled(),
                       fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width()),
                       foregroundRole());
}

HintButton::HintButton(QWidget* parent) : QToolButton(parent) {
  setText(QStringLiteral("?"));
  setAutoRaise(true);
  setFocusPolicy(Qt::TabFocus);
  connect(this, &QToolButton::clicked, this,
          [this] { QToolTip::showText(mapToGlobal(rect().bottomLeft()), toolTip(), this); });
}

bool HintButton::event(QEvent* event) {
  if (event->type() == QEvent::ToolTipChange) setAccessibleName(toolTip());
  return QToolButton::event(event);
}

ChoiceButton::ChoiceButton(QWidget* parent) : QToolButton(parent) {
  setCheckable(true);
  setFocusPolicy(Qt::TabFocus);
}

QSize ChoiceButton::sizeHint() const {
  const QFontMetrics metrics(font());
  return {metrics.horizontalAdvance(text()) + 2 * metrics.averageCharWidth() + 8,
          metrics.height() + 12};
}

void ChoiceButton::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const QPalette colors = palette();
  const auto state = isEnabled() ? QPalette::Active : QPalette::Disabled;
  const bool on = isChecked() && isEnabled();
  painter.setPen(colors.color(hasFocus() ? QPalette::Link : QPalette::Mid));
  painter.setBrush(colors.brush(on ? QPalette::Highlight : QPalette::Button));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.setPen(colors.color(state, on ? QPalette::HighlightedText : QPalette::ButtonText));
  painter.drawText(rect(), Qt::AlignCenter, text());
}

Picker::Picker(QWidget* parent) : QComboBox(parent) {
  setSizeAdjustPolicy(QComboBox::AdjustToContents);
  let_wheel_pass(this);
}

QComboBox* picker(const QString& name, const QString& accessible_name, const QString& tip) {
  auto* box = new Picker;
  box->setObjectName(name);
  box->setAccessibleName(accessible_name);
  box->setToolTip(tip);
  return box;
}

NumberBox::NumberBox(QWidget* parent) : QSpinBox(parent) {
  setAlignment(Qt::AlignRight);
  let_wheel_pass(this);
}

WindowBox::WindowBox(QWidget* parent) : QSpinBox(parent) {
  setRange(0, infinite_window);
  setAlignment(Qt::AlignRight);
  let_wheel_pass(this);
}

Window WindowBox::window() const {
  return value() == infinite_window ? Window::infinite() : Window::of(value());
}

void WindowBox::set_window(Window window) {
  setValue(window.is_infinite()
               ? infinite_window
               : static_cast<int>(std::min<std::int64_t>(window.tokens(), infinite_window - 1)));
}

std::optional<Window> stored_window(const QVariantMap& settings) {
  const QString text = settings.value(QStringLiteral("window")).toString();
  const Result<Window> window = parse_window(text.toStdString());
  return window ? std::optional(*window) : std::nullopt;
}

QString WindowBox::typed(const QString& text) const {
  const bool has_prefix = text.startsWith(prefix());
  return text.mid(has_prefix ? prefix().size() : 0).trimmed().toLower();
}

QString WindowBox::textFromValue(int value) const {
  return value == infinite_window ? QStringLiteral("inf") : QSpinBox::textFromValue(value);
}

int WindowBox::valueFromText(const QString& text) const {
  return means_infinite(typed(text)) ? infinite_window : QSpinBox::valueFromText(text);
}

QValidator::State WindowBox::validate(QString& text, int& position) const {
  const QString word = typed(text);
  if (means_infinite(word)) return QValidator::Acceptable;
  if (!word.isEmpty() && QStringLiteral("inf").startsWith(word)) return QValidator::Intermediate;
  return QSpinBox::validate(text, position);
}

void explain(QWidget* widget, const QString& meaning) {
  widget->setToolTip(meaning);
  widget->setWhatsThis(meaning);
  widget->setAccessibleDescription(meaning);
}

void explain_fields(QWidget& form) {
  for (QLabel* label : form.findChildren<QLabel*>()) {
    QWidget* field = label->buddy();
    if (field == nullptr) continue;
    explain(label, label->toolTip().isEmpty() ? field->toolTip() : label->toolTip());
    if (!field->toolTip().isEmpty()) explain(field, field->toolTip());
    if (field->accessibleName().isEmpty())
      field->setAccessibleName(label->text().remove(QLatin1Char('&')));
  }
}

QAction* add_action(QWidget* where, const QString& text, const QKeySequence& keys,
                    std::function<void()> act) {
  auto* action = new QAction(text, where);
  action->setShortcut(keys);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  QObject::connect(action, &QAction::triggered, where, std::move(act));
  where->addAction(action);
  return action;
}

void set_quietly(QSpinBox* box, std::int64_t value) {
  const QSignalBlocker quiet(box);
  box->setValue(static_cast<int>(std::min<std::int64_t>(value, box->maximum())));
}

void keep_sizes(QSplitter& splitter) {
  const QString key = key_of(splitter);
  QList<int> sizes;
  for (const QVariant& size : QSettings().value(key).toList()) sizes.append(size.toInt());
  if (sizes.size() == splitter.count()) splitter.setSizes(sizes);
  QObject::connect(&splitter, &QSplitter::splitterMoved, &splitter, [&splitter, key] {
    QVariantList all;
    for (const int size : splitter.sizes()) all.append(size);
    QSettings().setValue(key, all);
  });
}

void keep_choice(QComboBox& box) {
  const QString key = key_of(box);
  const int kept = QSettings().value(key, -1).toInt();
  if (kept >= 0 && kept < box.count()) box.setCurrentIndex(kept);
  QObject::connect(&box, &QComboBox::activated, &box,
                   [key](int chosen) { QSettings().setValue(key, chosen); });
}

ProblemLabel::ProblemLabel(QWidget* parent, const char* name) : QLabel(parent) {
  setObjectName(QLatin1String(name));
  setWordWrap(true);
  setTextFormat(Qt::PlainText);
  hide();
  tint();
}

void ProblemLabel::set_problem(const QString& sentence) {
  setText(sentence);
  setVisible(!sentence.isEmpty());
}

QSize ProblemLabel::sizeHint() const {
  return {QLabel::sizeHint().width(), heightForWidth(width())};
}

QSize ProblemLabel::minimumSizeHint() const {
  return {QLabel::minimumSizeHint().width(), heightForWidth(width())};
}

void ProblemLabel::resizeEvent(QResizeEvent* event) {
  QLabel::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) updateGeometry();
}

void ProblemLabel::changeEvent(QEvent* event) {
  // Uses the application's palette, because tinting changes the label's own.
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) tint();
  QLabel::changeEvent(event);
}

void ProblemLabel::tint() {
  QPalette tinted = palette();
  const QColor color = error_text(tinted);
  if (tinted.color(foregroundRole()) == color) return;
  tinted.setColor(foregroundRole(), color);
  setPalette(tinted);
}

SideArea::SideArea(QWidget* parent) : QScrollArea(parent) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);
}

SideArea::SideArea(QWidget* inside, const QString& name) : SideArea(nullptr) {
  setAccessibleName(name);
  setWidget(inside);
}

bool SideArea::eventFilter(QObject* watched, QEvent* event) {
  const bool filtered = QScrollArea::eventFilter(watched, event);
  if (watched == widget() && event->type() == QEvent::LayoutRequest) {
    setMinimumWidth(std::min(
        widest, widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width()));
  }
  return filtered;
}

QSplitter* with_sides(const char* name, SideArea* left, QWidget* middle, SideArea* right,
                      const QList<int>& widths) {
  auto* framed = new QWidget;
  auto* layout = new QVBoxLayout(framed);
  layout->setContentsMargins(space::gap, 0, space::gap, 0);
  layout->addWidget(middle);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QLatin1String(name));
  split->setChildrenCollapsible(false);
  for (QWidget* part : std::initializer_list<QWidget*>{left, framed, right}) {
    split->addWidget(part);
    split->setStretchFactor(split->count() - 1, part == framed ? 1 : 0);
  }
  split->setSizes(widths);
  keep_sizes(*split);
  return split;
}

namespace {

/// Replaces field separators by spaces, and minus signs by hyphens, which other programs parse as
/// signs.
QString field(QString text) {
  return text.replace(QLatin1Char('\t'), QLatin1Char(' '))
      .replace(QLatin1Char('\n'), QLatin1Char(' '))
      .replace(QChar(u'−'), QLatin1Char('-'));
}

/// Empty without a selection.
QString selection_text(const QTableView& table) {
  if (table.selectionModel() == nullptr) return {};
  std::map<int, std::map<int, QString>> rows;  // by row, then by visual column
  std::set<int> columns;
  const QModelIndexList selected = table.selectionModel()->selectedIndexes();
  for (const QModelIndex& index : selected) {
    if (table.isColumnHidden(index.column())) continue;
    const int place = table.horizontalHeader()->visualIndex(index.column());
    columns.insert(place);
    rows[index.row()][place] = field(index.data().toString());
  }
  if (rows.empty()) return {};
  QStringList head;
  for (const int place : columns) {
    const int column = table.horizontalHeader()->logicalIndex(place);
    head.append(field(table.model()->headerData(column, Qt::Horizontal).toString()));
  }
  QStringList lines{head.join(QLatin1Char('\t'))};
  for (const auto& [row, fields] : rows) {
    QStringList line;
    for (const int place : columns) {
      const auto found = fields.find(place);
      line.append(found == fields.end() ? QString() : found->second);
    }
    lines.append(line.join(QLatin1Char('\t')));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace

int height_of_rows(const QTableView& table, int most) {
  const int rows = table.model() == nullptr ? 0 : table.model()->rowCount();
  return table.horizontalHeader()->sizeHint().height() +
         std::min(rows, most) * table.verticalHeader()->defaultSectionSize() +
         table.horizontalScrollBar()->sizeHint().height() + 2 * table.frameWidth();
}

ReadingTable::ReadingTable(QWidget* parent) : QTableView(parent) {
  constexpr int rows_measured_for_widths = 100;
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setShowGrid(false);
  setAlternatingRowColors(true);
  setWordWrap(false);
  setTabKeyNavigation(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setResizeContentsPrecision(rows_measured_for_widths);
  add_action(this, tr("Copy selected cells"), QKeySequence::Copy, std::function<void()>([this] {
               if (const QString text = selection_text(*this); !text.isEmpty())
                 QApplication::clipboard()->setText(text);
             }));
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

FlowLayout::FlowLayout(QWidget* parent) : QLayout(parent) {
  setContentsMargins(0, 0, 0, 0);
  if (parent == nullptr) return;
  for (QWidget* part : parent->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    addWidget(part);
}

FlowLayout::~FlowLayout() {
  qDeleteAll(items_);
}

void FlowLayout::addItem(QLayoutItem* item) {
  items_.append(item);
}

int FlowLayout::count() const {
  return static_cast<int>(items_.size());
}

QLayoutItem* FlowLayout::itemAt(int index) const {
  return items_.value(index);
}

QLayoutItem* FlowLayout::takeAt(int index) {
  return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
}

int FlowLayout::heightForWidth(int width) const {
  return arrange(QRect(0, 0, width, 0), false);
}

QSize FlowLayout::sizeHint() const {
  int width = 0, height = 0;
  for (const QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    const QSize hint = item->sizeHint();
    width += hint.width() + (width > 0 ? space::gap : 0);
    height = std::max(height, hint.height());
  }
  return {width, height};
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  }
  // Splitters and scroll areas use only this size, not heightForWidth().
  if (geometry().width() > 0) size.setHeight(heightForWidth(geometry().width()));
  return size;
}

void FlowLayout::setGeometry(const QRect& rect) {
  const bool other_width = rect.width() != geometry().width();
  QLayout::setGeometry(rect);
  arrange(rect, true);
  if (other_width && parentWidget() != nullptr) parentWidget()->updateGeometry();
}

int FlowLayout::arrange(const QRect& rect, bool place) const {
  const auto end_line = [&](QList<QLayoutItem*>& line, int top, int height) {
    int x = rect.left();
    for (QLayoutItem* item : line) {
      const int width = std::min(item->sizeHint().width(), rect.width());
      if (place) item->setGeometry(QRect(x, top, width, height));
      x += width + space::gap;
    }
    line.clear();
  };
  QList<QLayoutItem*> line;
  int y = rect.top(), width = 0, height = 0;
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    const QSize hint = item->sizeHint();
    if (!line.isEmpty() && width + space::gap + hint.width() > rect.width()) {
      end_line(line, y, height);
      y += height + space::gap / 2;
      width = height = 0;
    }
    width += hint.width() + (line.isEmpty() ? 0 : space::gap);
    height = std::max(height, hint.height());
    line.append(item);
  }
  end_line(line, y, height);
  return y + height - rect.top();
}

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

void PopupButton::set_summary(const QString& text) {
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
