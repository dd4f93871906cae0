#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A button that shows the current choice and opens the fields for it below, so that a page shows
// one control instead of all of them. A choice takes effect at once; Escape or a click elsewhere
// closes.
//
//   auto* choices = new PopupButton(this, fields);
//   choices->say(tr("Time and memory along length"));

#include <QPushButton>

class QFrame;

namespace attnscope::gui {

class PopupButton : public QPushButton {
  Q_OBJECT
 public:
  /// `fields`: the widget to open; its accessible name describes its purpose.
  explicit PopupButton(QWidget* parent, QWidget* fields = nullptr);
  void set_fields(QWidget* fields);

  /// Sets the text; its end is elided where space is narrow.
  void say(const QString& text);
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
