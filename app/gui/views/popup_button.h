#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A button that says what was chosen and opens the fields to choose it with beneath it, so that a
// page shows one control instead of all of them. What is chosen takes effect at once; Escape or a
// click elsewhere closes.
//
//   auto* choices = new PopupButton(this, fields);
//   choices->say(tr("Time and memory along length"));

#include <QPushButton>

class QFrame;

namespace attnscope::gui {

class PopupButton : public QPushButton {
  Q_OBJECT
 public:
  /// `fields`: what opens; its accessible name says what for.
  explicit PopupButton(QWidget* parent, QWidget* fields = nullptr);
  void set_fields(QWidget* fields);

  /// Cut at its end where the room is narrow.
  void say(const QString& text);
  /// The keyboard goes to `field`, or to the first one.
  void open(QWidget* field = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void initStyleOption(QStyleOptionButton* option) const override;

 private:
  /// What frame and arrow take of the width.
  [[nodiscard]] int width_around_text(const QStyleOptionButton& option) const;

  QFrame* frame_;
  QWidget* fields_ = nullptr;
};

}  // namespace attnscope::gui
