#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A run's charts over its tabs. They share what room there is. Where there is too little for both,
// the charts are the last of the tabs: so a table's own bars are the only ones, and nothing scrolls
// in a page that scrolls.

#include <QSizePolicy>
#include <QSplitter>

class QTabWidget;

namespace attnscope::gui {

class RunHalves : public QSplitter {
 public:
  RunHalves(QWidget* charts, QTabWidget* tabs);

  /// To be called when another tab is in front: the tab bar stays where it is, and the charts are
  /// folded where that tab needs their room.
  void fold_or_unfold();
  /// What the charts show was chosen: where they are a tab, or become one, it is in front.
  void bring_charts();
  /// The charts are a tab.
  [[nodiscard]] bool is_folded() const;
  [[nodiscard]] QSize sizeHint() const override { return minimumSizeHint(); }
  /// Of the tab in front alone.
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;

 private:
  /// Of the tabs, with the one that is in front when the charts are not.
  [[nodiscard]] int least_of_tabs() const;

  QWidget* charts_;
  QTabWidget* tabs_;
  QWidget* lower_ = nullptr;  // in front, or last there
  QSizePolicy of_charts_;
  QList<int> unfolded_;             // sizes
  bool charts_are_wanted_ = false;  // until another tab is chosen
};

}  // namespace attnscope::gui
