#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The controls that forms are made of, set up alike: an object name, what a screen reader says, a
// tip.

#include <QKeySequence>
#include <QString>
#include <cstdint>
#include <functional>

class QAction;
class QComboBox;
class QLabel;
class QSpinBox;
class QWidget;

namespace attnscope::gui {

/// Bold above what it names, over several lines where the room is narrow; its mnemonic goes to
/// `buddy`.
[[nodiscard]] QLabel* heading(const QString& text, QWidget* buddy = nullptr);
/// A list as wide as its longest entry.
[[nodiscard]] QComboBox* picker(const QString& name, const QString& accessible_name,
                                const QString& tip);
/// A number, aligned right; the tip is also what a screen reader says.
[[nodiscard]] QSpinBox* number_box(int least, int most, const QString& tip, const char* name);
/// What can be done in `where` and whatever lies in it: by its keys, and wherever the action is
/// put.
QAction* add_action(QWidget* where, const QString& text, const QKeySequence& keys,
                    std::function<void()> act);
template <typename Widget>
QAction* add_action(Widget* where, const QString& text, const QKeySequence& keys,
                    void (Widget::*act)()) {
  return add_action(where, text, keys, std::function<void()>([where, act] { (where->*act)(); }));
}
/// The value, at most the box' largest, without telling anybody.
void set_quietly(QSpinBox* box, std::int64_t value);

}  // namespace attnscope::gui
