#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The parts that forms are made of, set up alike: an object name, what a screen reader says, a tip.

#include <QComboBox>
#include <QKeySequence>
#include <QLabel>
#include <QScrollArea>
#include <QSpinBox>
#include <QString>
#include <QToolButton>
#include <cstdint>
#include <functional>

#include "engine/pattern/window.h"

class QAction;
class QSplitter;
class QTableView;

namespace attnscope::gui {

/// Bold above what it names, over several lines where the room is narrow; its mnemonic goes to
/// `buddy`.
[[nodiscard]] QLabel* heading(const QString& text, QWidget* buddy = nullptr);
/// Plain text, over as many lines as it needs.
class PlainLabel : public QLabel {
 public:
  explicit PlainLabel(QWidget* parent = nullptr);
};
/// The wheel turns the page over a field that has not the focus, and changes nothing.
void let_wheel_pass(QWidget* field);
/// A table that is looked at and chosen in, not edited; Tab leaves it.
void set_up_table(QTableView* table);
/// Text to read, to select and to copy, over several lines where the room is narrow.
class ReadingLabel : public PlainLabel {
 public:
  explicit ReadingLabel(QWidget* parent, const char* name = "");
};
/// One line, whose end is left out where there is no room for it.
class LineLabel : public QLabel {
 public:
  explicit LineLabel(QWidget* parent = nullptr);
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};
/// A question mark beside a heading; its tool tip says what the words mean, also when it is
/// pressed.
class HintButton : public QToolButton {
 public:
  explicit HintButton(QWidget* parent);

 protected:
  bool event(QEvent* event) override;
};

/// A list as wide as its longest entry.
class Picker : public QComboBox {
 public:
  explicit Picker(QWidget* parent = nullptr);
};
[[nodiscard]] QComboBox* picker(const QString& name, const QString& accessible_name,
                                const QString& tip);
/// A number, aligned right. Its digits are not grouped: a separator that comes while one types puts
/// the next digit before the last.
class NumberBox : public QSpinBox {
 public:
  explicit NumberBox(QWidget* parent);
};
/// A window of any width: a number of tokens, or "inf".
class WindowBox : public QSpinBox {
 public:
  explicit WindowBox(QWidget* parent = nullptr);
  [[nodiscard]] Window window() const;
  void set_window(Window window);

 protected:
  [[nodiscard]] QString textFromValue(int value) const override;
  [[nodiscard]] int valueFromText(const QString& text) const override;
  QValidator::State validate(QString& text, int& position) const override;

 private:
  /// Without what stands before the number.
  [[nodiscard]] QString typed(const QString& text) const;
};

/// What the words of a label or a field mean: its tool tip, What's This, and what a screen reader
/// adds. Terms of the field come from terms.h: explain(label, explained("heat")).
void explain(QWidget* widget, const QString& meaning);
/// What the tool tips of a form say of its fields, or of the labels that have them for buddies, is
/// explained by both; a field without an accessible name takes the label's text.
void explain_fields(QWidget& form);
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

/// What a person moved or chose is kept in the settings at once, under the widget's object name,
/// and is there again after a restart: the sizes of a splitter, once its widgets are in it, ...
void keep_sizes(QSplitter& splitter);
/// ... and the entry of a list that never changes, by its place, once its entries are in it. Only
/// what a person chooses is kept, not what the program sets.
void keep_choice(QComboBox& box);

/// One sentence beside the control that it is about; takes no room while there is none. Its height
/// is asked of the width that it has: a QFormLayout with rows that come and go loses others where
/// one of them has a height for every width (Qt 6.4).
class ProblemLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ProblemLabel(QWidget* parent, const char* name = "");
  /// Empty: nothing is wrong.
  void set_problem(const QString& sentence);
  [[nodiscard]] bool hasHeightForWidth() const override { return false; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void tint();
};

/// A part of a page: as wide as what is inside needs, up to where a small window or large text
/// would leave the others no room; then it scrolls.
class SideArea : public QScrollArea {
  Q_OBJECT
 public:
  static constexpr int widest =
      284;  // of 1000: with the rail and the other side, the middle has 250

  explicit SideArea(QWidget* parent);
  SideArea(QWidget* inside, const QString& name);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

/// A page's middle, which gets the room whatever the size of the text, between two sides that
/// scroll; a person's widths are kept under `name`.
[[nodiscard]] QSplitter* with_sides(const char* name, SideArea* left, QWidget* middle,
                                    SideArea* right, const QList<int>& widths);

}  // namespace attnscope::gui
