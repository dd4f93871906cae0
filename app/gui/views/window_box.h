#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A window of any width: a number of tokens, or "inf".

#include <QSpinBox>

#include "engine/pattern/window.h"

namespace attnscope::gui {

class WindowBox : public QSpinBox {
  Q_OBJECT
 public:
  explicit WindowBox(QWidget* parent = nullptr);

  [[nodiscard]] Window window() const;
  void set_window(Window window);

 protected:
  [[nodiscard]] QString textFromValue(int value) const override;
  [[nodiscard]] int valueFromText(const QString& text) const override;
  QValidator::State validate(QString& text, int& position) const override;
};

}  // namespace attnscope::gui
