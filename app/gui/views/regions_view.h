#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A document with the regions that determine its score, as wide as the page; it scrolls vertically.

#include <QScrollArea>

#include "app/gui/session/attention_session.h"

namespace attnscope::gui {

class RegionsView : public QScrollArea {
  Q_OBJECT
 public:
  explicit RegionsView(QWidget* parent = nullptr);

  void show_regions(RegionsPointer regions);
  /// The whole content of the drawing as text, for screen readers.
  [[nodiscard]] QString text() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  class Paper;
  void lay_out();

  RegionsPointer regions_;
  Paper* paper_;
};

}  // namespace attnscope::gui
