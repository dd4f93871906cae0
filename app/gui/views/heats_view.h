#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heats of the live run as small squares, wrapped into lines; one is selected by mouse or arrow
// keys. Also the legend of the squares, with the number of each kind.

#include <QListView>
#include <QPalette>

#include "app/gui/session/heats.h"

namespace attnscope::gui {

class HeatsModel;

/// One heat's square. Each state has its own drawing or letter in addition to its colour.
void paint_heat_mark(QPainter& painter, const QRect& square, HeatState state,
                     const QPalette& palette);

class HeatsView : public QListView {
  Q_OBJECT
 public:
  explicit HeatsView(HeatsModel* heats, QWidget* parent = nullptr);

 Q_SIGNALS:
  /// The sentence of the selected heat; empty: none is selected.
  void chosen(const QString& sentence);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  /// As high as its lines, up to a maximum, beyond which it scrolls.
  void fit();
  void heats_changed();

  HeatsModel* heats_;
};

class HeatsLegend : public QWidget {
  Q_OBJECT
 public:
  explicit HeatsLegend(HeatsModel* heats, QWidget* parent = nullptr);
  /// "12 measured, 1 being measured, 8 waiting"
  [[nodiscard]] QString text() const;

 private:
  void count();

  HeatsModel* heats_;
  std::vector<QWidget*> entries_;  // by state
};

}  // namespace attnscope::gui
