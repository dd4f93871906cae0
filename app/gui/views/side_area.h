#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A side of a page whose middle is a picture: as wide as what is inside needs, up to where a small
// window or large text would leave the picture no room; then it scrolls.

#include <QScrollArea>

namespace attnscope::gui {

class SideArea : public QScrollArea {
  Q_OBJECT
 public:
  SideArea(QWidget* inside, const QString& name);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace attnscope::gui
