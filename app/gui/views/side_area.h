#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A side of a page whose middle is a picture: as wide as what is inside needs, up to where a small
// window or large text would leave the picture no room; then it scrolls.

#include <QScrollArea>

class QSplitter;

namespace attnscope::gui {

class SideArea : public QScrollArea {
  Q_OBJECT
 public:
  SideArea(QWidget* inside, const QString& name);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

/// A page's middle, which gets the room whatever the size of the text, between two sides that
/// scroll; a person's widths are kept under `name`.
[[nodiscard]] QSplitter* with_sides(const char* name, SideArea* left, QWidget* middle,
                                    SideArea* right, const QList<int>& widths);

}  // namespace attnscope::gui
