#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One sentence, shown beside what it is about: what went wrong and how to mend it, or what was
// done. At the foot of a page, what was done lies over it, lets clicks through and goes by itself
// or by a click on it; what has a button or stays has room of its own there, and covers nothing.

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
  /// `page`: over whose foot it lies; null: it stands in a layout.
  explicit MessageBar(QWidget* page = nullptr);

  /// `mend` names a button; empty: none.
  void show_error(const QString& sentence, const QString& mend = {});
  void show_info(const QString& sentence);
  /// What was done, with a button that does more about it, or takes it back.
  void show_offer(const QString& sentence, const QString& button, const QKeySequence& shortcut,
                  std::function<void()> act);
  void clear();
  [[nodiscard]] QString text() const;
  /// The sentence shown, when it is of something that went wrong.
  [[nodiscard]] QString error() const;
  [[nodiscard]] QPushButton* mend_button() const { return mend_; }

 Q_SIGNALS:
  void mend_asked();
  void error_shown();

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void show_sentence(const QString& sentence, const QString& mend, bool error);
  void paint_ground();
  void lie_at_the_foot();
  /// The button stands beside the sentence, or below it where it would leave a column of words.
  void arrange(int width);
  [[nodiscard]] bool stays() const;

  QWidget* page_;  // null in a layout
  QBoxLayout* sentence_ = nullptr;
  QLabel* label_;
  QPushButton* mend_;
  QToolButton* close_;
  QTimer gone_;
  bool is_error_ = false;
  std::function<void()> offered_;  // what the button does instead of asking to mend
};

}  // namespace attnscope::gui
