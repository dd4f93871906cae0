#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A run's charts above its tabs; both share the available height. If it is too small for both, the
// charts become the last tab, so that only a table has scroll bars and no scroll area contains
// another.

#include <QSizePolicy>
#include <QSplitter>

class QTabWidget;

namespace attnscope::gui {

class RunHalves : public QSplitter {
 public:
  RunHalves(QWidget* charts, QTabWidget* tabs);

  /// Must be called when the current tab changes: the tab bar keeps its position, and the charts
  /// are folded if the tab needs their room.
  void fold_or_unfold();
  /// Called when the user changes the content of the charts: if they are a tab, or become one, that
  /// tab is made current.
  void bring_charts();
  /// Whether the charts are a tab.
  [[nodiscard]] bool is_folded() const;
  [[nodiscard]] QSize sizeHint() const override { return minimumSizeHint(); }
  /// Only the current tab's.
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;

 private:
  /// Smallest height of the tabs; if the charts are the current tab, that of the last other tab.
  [[nodiscard]] int least_of_tabs() const;

  QWidget* charts_;
  QTabWidget* tabs_;
  QWidget* lower_ = nullptr;  // the current tab, or the last current one
  QSizePolicy of_charts_;
  QList<int> unfolded_;             // sizes
  bool charts_are_wanted_ = false;  // until another tab is selected
};

}  // namespace attnscope::gui
