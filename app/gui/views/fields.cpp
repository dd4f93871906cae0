// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/fields.h"

#include <QAction>
#include <QComboBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSignalBlocker>
#include <QTableView>
#include <algorithm>
#include <utility>

#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

// Above every mask's length, so that no number is lost by it.
constexpr int infinite_window = 1'000'001;

bool means_infinite(const QString& word) {
  return word == QLatin1String("inf") || word == QStringLiteral("∞");
}

}  // namespace

QLabel* heading(const QString& text, QWidget* buddy) {
  auto* label = new QLabel(text);
  set_text(label, TextSize::heading);
  label->setBuddy(buddy);
  label->setWordWrap(true);
  return label;
}

QLabel* plain_label(const char* name, const QString& text) {
  auto* label = new QLabel(text);
  label->setObjectName(QLatin1String(name));
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  return label;
}

void set_up_table(QTableView* table, const char* name, const QString& accessible_name) {
  table->setObjectName(QLatin1String(name));
  table->setAccessibleName(accessible_name);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setTabKeyNavigation(false);
  table->setCornerButtonEnabled(false);
  for (QHeaderView* header : {table->horizontalHeader(), table->verticalHeader()}) {
    header->setSectionsClickable(false);
  }
}

QLabel* reading_label(const char* name) {
  QLabel* label = plain_label(name);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

QComboBox* picker(const QString& name, const QString& accessible_name, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setAccessibleName(accessible_name);
  box->setToolTip(tip);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  return box;
}

QSpinBox* number_box(int least, int most, const QString& tip, const char* name) {
  auto* box = new QSpinBox;
  box->setRange(least, most);
  box->setGroupSeparatorShown(true);
  box->setAlignment(Qt::AlignRight);
  box->setToolTip(tip);
  box->setAccessibleName(tip);
  box->setObjectName(QLatin1String(name));
  return box;
}

WindowBox::WindowBox(QWidget* parent) : QSpinBox(parent) {
  setRange(0, infinite_window);
  setAlignment(Qt::AlignRight);
}

Window WindowBox::window() const {
  return value() == infinite_window ? Window::infinite() : Window::of(value());
}

void WindowBox::set_window(Window window) {
  setValue(window.is_infinite()
               ? infinite_window
               : static_cast<int>(std::min<std::int64_t>(window.tokens(), infinite_window - 1)));
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

void add_row(QFormLayout* form, const QString& title, QWidget* field, const QString& meaning) {
  explain(field, meaning);
  field->setAccessibleName(title.isEmpty() ? meaning : QString(title).remove(QLatin1Char('&')));
  if (title.isEmpty()) return form->addRow(field);
  auto* label = new QLabel(title);
  explain(label, meaning);
  label->setBuddy(field);
  form->addRow(label, field);
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

}  // namespace attnscope::gui
