#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Every shortcut of the window in one table: those of its menus and pages, read from the menus and
// the pages themselves, and the keys of charts and tables.

#include <QDialog>
#include <QStandardItemModel>

class QMenuBar;

namespace attnscope::gui {

class Page;

class ShortcutsDialog : public QDialog {
  Q_OBJECT
 public:
  /// The menu bar's own entry that holds what can be done on the page at the front; not read, since
  /// every page is asked.
  static inline const QString page_menu = QStringLiteral("page_menu");

  ShortcutsDialog(const QMenuBar& menus, const QList<const Page*>& pages,
                  QWidget* parent = nullptr);
  [[nodiscard]] const QStandardItemModel& model() const { return model_; }

 private:
  void add(const QString& where, const QString& what, const QString& keys);
  void add_menu(const QString& where, const QList<QAction*>& actions);

  QStandardItemModel model_;
};

}  // namespace attnscope::gui
