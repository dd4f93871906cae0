#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Layer x head pictures, of which one is chosen by mouse or arrow keys.

#include <QTableView>

namespace attnscope::gui {

class HeadGridModel;

class HeadGridView : public QTableView {
  Q_OBJECT
 public:
  explicit HeadGridView(QWidget* parent = nullptr);
  void set_heads(HeadGridModel* model);
  void choose(int layer, int head);

 Q_SIGNALS:
  void chosen(int layer, int head);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  /// As large as the width allows, between what can be told apart and what is a picture.
  void fit_cells();
};

}  // namespace attnscope::gui
