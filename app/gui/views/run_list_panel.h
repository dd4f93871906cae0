#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The list of runs with its search field; a context menu exports, imports, continues,
// repeats and removes.

#include <QSortFilterProxyModel>
#include <QWidget>

class QLineEdit;
class QListView;
class QMenu;

namespace attnscope::gui {

class RunListModel;

class RunListPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RunListPanel(RunListModel* model, QWidget* parent = nullptr);

  void choose(const QString& uuid);
  [[nodiscard]] QString chosen() const;
  [[nodiscard]] QListView* list() const { return list_; }
  [[nodiscard]] QLineEdit* search() const { return search_; }
  /// The menu for the chosen run; the caller shows it.
  [[nodiscard]] QMenu* make_menu();

 Q_SIGNALS:
  void run_chosen(const QString& uuid);
  void remove_asked(const QString& uuid);
  void export_asked(const QString& uuid);
  void resume_asked(const QString& uuid);
  void again_asked(const QString& uuid);
  void import_asked();

 private:
  RunListModel* model_;
  QSortFilterProxyModel proxy_;
  QLineEdit* search_;
  QListView* list_;
};

}  // namespace attnscope::gui
