#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A button for one of several choices, or for a choice that is on or off. Fusion's pressed tool
// buttons hardly differ from the others, especially on a dark background, and a style sheet would
// keep the colours of the first palette.

#include <QToolButton>

namespace attnscope::gui {

class ChoiceButton : public QToolButton {
  Q_OBJECT
 public:
  explicit ChoiceButton(QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace attnscope::gui
