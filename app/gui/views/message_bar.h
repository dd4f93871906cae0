#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One sentence, shown next to what it concerns: an error and its remedy, or a completed action. At
// the bottom of a page, the report of an action overlays the page, lets clicks through and
// disappears after a time or on a click; a message that has a button or stays has its own space and
// covers nothing.

#include <QFrame>
#include <QKeySequence>
#include <QString>
#include <QTimer>
#include <functional>

class QBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace attnscope::gui {

class MessageBar : public QFrame {
  Q_OBJECT
 public:
  /// `page`: the page whose bottom edge it overlays; null: it is in a layout.
  explicit MessageBar(QWidget* page = nullptr);

  /// `fix`: text of the button that fixes the error; empty: none.
  void show_error(const QString& sentence, const QString& fix = {});
  void show_info(const QString& sentence);
  /// A completed action, with a button that continues or undoes it.
  void show_offer(const QString& sentence, const QString& button, const QKeySequence& shortcut,
                  std::function<void()> act);
  void clear();
  [[nodiscard]] QString text() const;
  /// The message, if it is an error.
  [[nodiscard]] QString error() const;
  [[nodiscard]] QPushButton* fix_button() const { return fix_; }

 Q_SIGNALS:
  void fix_requested();
  void error_shown();

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void show_sentence(const QString& sentence, const QString& fix, bool error);
  void paint_ground();
  void lie_at_the_foot();
  /// Places the button next to the sentence, or below it where the sentence would become too
  /// narrow.
  void arrange(int width);
  [[nodiscard]] bool stays() const;

  QWidget* page_;  // null if in a layout
  QBoxLayout* sentence_ = nullptr;
  QLabel* label_;
  QPushButton* fix_;
  QToolButton* close_;
  QTimer gone_;
  bool is_error_ = false;
  std::function<void()> offered_;  // the button's action; replaces fix_requested()
};

}  // namespace attnscope::gui
