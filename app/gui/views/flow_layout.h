#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Widgets side by side, in as many lines as their width needs, so that controls stay whole in a
// narrow window and with large text.

#include <QLayout>
#include <QList>

namespace attnscope::gui {

class FlowLayout : public QLayout {
  Q_OBJECT
 public:
  /// Lays out the existing child widgets of `parent`.
  explicit FlowLayout(QWidget* parent = nullptr);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override;
  [[nodiscard]] int count() const override;
  [[nodiscard]] QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  [[nodiscard]] Qt::Orientations expandingDirections() const override { return {}; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  /// Returns the height; moves the widgets only if `place` is set.
  int arrange(const QRect& rect, bool place) const;

  QList<QLayoutItem*> items_;
};

}  // namespace attnscope::gui
