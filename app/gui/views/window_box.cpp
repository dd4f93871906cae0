// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/window_box.h"

#include <algorithm>

namespace attnscope::gui {
namespace {

// Above every mask's length, so that no number is lost by it.
constexpr int infinite = 1'000'001;

bool means_infinite(const QString& text) {
  const QString word = text.trimmed().toLower();
  return word == QLatin1String("inf") || word == QStringLiteral("∞");
}

}  // namespace

WindowBox::WindowBox(QWidget* parent) : QSpinBox(parent) {
  setRange(0, infinite);
  setAlignment(Qt::AlignRight);
}

Window WindowBox::window() const {
  return value() == infinite ? Window::infinite() : Window::of(value());
}

void WindowBox::set_window(Window window) {
  setValue(window.is_infinite()
               ? infinite
               : static_cast<int>(std::min<std::int64_t>(window.tokens(), infinite - 1)));
}

QString WindowBox::textFromValue(int value) const {
  return value == infinite ? QStringLiteral("inf") : QSpinBox::textFromValue(value);
}

int WindowBox::valueFromText(const QString& text) const {
  return means_infinite(text) ? infinite : QSpinBox::valueFromText(text);
}

QValidator::State WindowBox::validate(QString& text, int& position) const {
  if (means_infinite(text)) return QValidator::Acceptable;
  const QString word = text.trimmed().toLower();
  if (!word.isEmpty() && QStringLiteral("inf").startsWith(word)) return QValidator::Intermediate;
  return QSpinBox::validate(text, position);
}

}  // namespace attnscope::gui
