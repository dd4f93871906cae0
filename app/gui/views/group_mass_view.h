#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Mass from token group to token group, twice: as a shaded matrix, and as a bar for each attending
// group, cut where its mass goes.

#include <QTableView>
#include <QWidget>

namespace attnscope::gui {

class GroupMassModel;

/// The matrix; as high as its rows.
class GroupMassTable : public QTableView {
  Q_OBJECT
 public:
  explicit GroupMassTable(GroupMassModel* model, QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }
};

/// The bars. Of differences, a bar to the right for what B adds and to the left for what it takes.
class GroupMassBars : public QWidget {
  Q_OBJECT
 public:
  explicit GroupMassBars(GroupMassModel* model, QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void describe();

  GroupMassModel* model_;
};

}  // namespace attnscope::gui
