#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Small widgets and layouts with a common setup: form fields, labels, tables, wrapping rows and
// buttons with fields that open below them.

#include <QComboBox>
#include <QKeySequence>
#include <QLabel>
#include <QLayout>
#include <QList>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QString>
#include <QTableView>
#include <QToolButton>
#include <QVariantMap>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/pattern/axes.h"

class QAction;
class QFrame;
class QSplitter;

namespace attnscope::gui {

/// A bold heading above a widget, wrapped where space is narrow; its mnemonic focuses `buddy`.
[[nodiscard]] QLabel* heading(const QString& text, QWidget* buddy = nullptr);
/// Plain text, wrapped.
class PlainLabel : public QLabel {
 public:
  explicit PlainLabel(QWidget* parent = nullptr);
};
/// Over an unfocused field, the wheel scrolls the page and does not change the field.
void let_wheel_pass(QWidget* field);
/// Sets up a table for viewing and selection without editing; Tab leaves it.
void set_up_table(QTableView* table);
/// Text that can be selected and copied, wrapped where space is narrow.
class ReadingLabel : public PlainLabel {
 public:
  explicit ReadingLabel(QWidget* parent, const char* name = "");
};
/// A single line; its end is elided where there is no room.
class LineLabel : public QLabel {
 public:
  explicit LineLabel(QWidget* parent = nullptr);
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};
/// A question mark next to a heading; its tool tip explains the heading, also on a press.
class HintButton : public QToolButton {
 public:
  explicit HintButton(QWidget* parent);

 protected:
  bool event(QEvent* event) override;
};

/// A button for one of several choices, or for a choice that is on or off. Fusion's pressed tool
/// buttons hardly differ from the others, especially on a dark background, and a style sheet would
/// keep the colours of the first palette.
class ChoiceButton : public QToolButton {
  Q_OBJECT
 public:
  explicit ChoiceButton(QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

/// A combo box as wide as its longest entry.
class Picker : public QComboBox {
 public:
  explicit Picker(QWidget* parent = nullptr);
};
[[nodiscard]] QComboBox* picker(const QString& name, const QString& accessible_name,
                                const QString& tip);
/// A right-aligned number. Digits are not grouped: a separator inserted during typing would put the
/// next digit before the last.
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
  /// The text without the prefix.
  [[nodiscard]] QString typed(const QString& text) const;
};
/// The "window" of stored settings; nothing if it is missing or invalid.
[[nodiscard]] std::optional<Window> stored_window(const QVariantMap& settings);

/// Sets the explanation of a label or a field: its tool tip, What's This and accessible
/// description. Terms come from app/gui/session/text.h: explain(label, explained("heat")).
void explain(QWidget* widget, const QString& meaning);
/// Applies explain() to the fields with tool tips, and to the labels whose buddies they are; a
/// field without an accessible name takes the label's text.
void explain_fields(QWidget& form);
/// An action for `where` and its descendants, which works by its keys and wherever it is placed.
QAction* add_action(QWidget* where, const QString& text, const QKeySequence& keys,
                    std::function<void()> act);
template <typename Widget>
QAction* add_action(Widget* where, const QString& text, const QKeySequence& keys,
                    void (Widget::*act)()) {
  return add_action(where, text, keys, std::function<void()>([where, act] { (where->*act)(); }));
}
/// Sets the value, at most the box's maximum, without emitting signals.
void set_quietly(QSpinBox* box, std::int64_t value);

/// Stores a user's setting at once, under the widget's object name, and restores it after a
/// restart: the sizes of a splitter, called once its widgets are added, ...
void keep_sizes(QSplitter& splitter);
/// ... and the entry of a fixed list, by its index, called once its entries are added. Only the
/// user's choices are stored, not those that the program sets.
void keep_choice(QComboBox& box);

/// One sentence next to the control that it concerns; takes no room while empty. Its height is
/// computed from the current width: a QFormLayout whose rows come and go loses other rows if a row
/// has a height for every width (Qt 6.4).
class ProblemLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ProblemLabel(QWidget* parent, const char* name = "");
  /// Empty: no problem.
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

/// A part of a page, as wide as its contents need, up to a limit that leaves space for the others
/// in a small window or with large text; beyond it, the contents scroll.
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

/// A page's middle, which gets the remaining room at any text size, between two sides that scroll;
/// the user's widths are stored under `name`.
[[nodiscard]] QSplitter* with_sides(const char* name, SideArea* left, QWidget* middle,
                                    SideArea* right, const QList<int>& widths);

/// Ctrl+C copies its selection: lines of tab-separated fields, in the order shown, under the names
/// of their columns. Cells of the rectangle that are not selected stay empty.
class ReadingTable : public QTableView {
 public:
  explicit ReadingTable(QWidget* parent = nullptr);
};

/// The height of a table with all its rows, or `most` of them, with its header and a scroll bar.
[[nodiscard]] int height_of_rows(const QTableView& table, int most);

/// Widgets side by side, in as many lines as their width needs, so that controls stay whole in a
/// narrow window and with large text.
class FlowLayout : public QLayout {
  Q_OBJECT
 public:
  /// Lays out the existing child widgets of `parent`.
  explicit FlowLayout(QWidget* parent = nullptr);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override;
  [[nodiscard]] int count() const override;
  [[nodiscard]] QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  [[nodiscard]] Qt::Orientations expandingDirections() const override { return {}; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  /// Returns the height; moves the widgets only if `place` is set.
  int arrange(const QRect& rect, bool place) const;

  QList<QLayoutItem*> items_;
};

/// A button that shows the current choice and opens the fields for it below, so that a page shows
/// one control instead of all of them. A choice takes effect at once; Escape or a click elsewhere
/// closes.
///
///   auto* choices = new PopupButton(this, fields);
///   choices->set_summary(tr("Time and memory along length"));
class PopupButton : public QPushButton {
  Q_OBJECT
 public:
  /// `fields`: the widget to open; its accessible name describes its purpose.
  explicit PopupButton(QWidget* parent, QWidget* fields = nullptr);
  void set_fields(QWidget* fields);

  /// Sets the text; its end is elided where space is narrow.
  void set_summary(const QString& text);
  /// Gives the focus to `field`, or to the first field.
  void open(QWidget* field = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void initStyleOption(QStyleOptionButton* option) const override;

 private:
  /// Width of the frame and the arrow.
  [[nodiscard]] int width_around_text(const QStyleOptionButton& option) const;

  QFrame* frame_;
  QWidget* fields_ = nullptr;
};

}  // namespace attnscope::gui
