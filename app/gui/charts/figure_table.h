#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The numbers that a chart draws, as a table in a small window beside it and as text.

#include <QDialog>
#include <QString>

#include "engine/report/figure.h"

class QTableWidget;

namespace attnscope::charts {

/// Every row with its headings, fields separated by tabs, as spreadsheets take it.
[[nodiscard]] QString numbers_text(const report::Figure& figure);

/// Not modal; Escape closes it. Ctrl+C copies all of it.
class FigureTable : public QDialog {
  Q_OBJECT
 public:
  explicit FigureTable(QWidget* chart);
  void show_figure(const report::Figure& figure);

 private:
  QTableWidget* view_;
  QString text_;
};

}  // namespace attnscope::charts
