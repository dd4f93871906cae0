#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Tags as buttons that stay pressed, in as many lines as they need; hidden while there are none.

#include <QStringList>
#include <QWidget>

namespace attnscope::gui {

class TagBar : public QWidget {
  Q_OBJECT
 public:
  explicit TagBar(QWidget* parent = nullptr);

  /// Pressed ones that are still there stay pressed.
  void set_tags(const QStringList& tags);
  [[nodiscard]] QStringList chosen() const;

 Q_SIGNALS:
  void chosen_changed(const QStringList& tags);

 private:
  QStringList tags_;
};

}  // namespace attnscope::gui
