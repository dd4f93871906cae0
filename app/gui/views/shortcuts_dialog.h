#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Every shortcut of the window in one table: those of its menus, read from the menus themselves,
// and the keys of charts and masks.

#include <QDialog>
#include <QStandardItemModel>

class QMenuBar;

namespace attnscope::gui {

class ShortcutsDialog : public QDialog {
  Q_OBJECT
 public:
  explicit ShortcutsDialog(const QMenuBar& menus, QWidget* parent = nullptr);
  [[nodiscard]] const QStandardItemModel& model() const { return model_; }

 private:
  void add(const QString& where, const QString& what, const QString& keys);
  void add_menu(const QString& where, const QList<QAction*>& actions);

  QStandardItemModel model_;
};

}  // namespace attnscope::gui
