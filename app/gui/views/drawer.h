#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A frame that slides in over the right side of a page, from top to bottom. Not modal: the page
// beside it stays alive. Esc closes it and the keyboard goes back to where it was.

#include <QFrame>
#include <QPointer>
#include <QPropertyAnimation>

namespace attnscope::gui {

class Drawer : public QFrame {
  Q_OBJECT
 public:
  /// As wide as so many characters, where the page has the room.
  Drawer(int characters, QWidget* page);

  void open();
  void shut();
  [[nodiscard]] bool is_open() const { return isVisible(); }

 Q_SIGNALS:
  void shut_down();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] QRect place() const;

  int characters_;
  QWidget* page_;
  QPropertyAnimation slide_;
  QPointer<QWidget> focus_before_;
};

}  // namespace attnscope::gui
