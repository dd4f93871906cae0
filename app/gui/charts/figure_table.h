#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The numbers of a chart, as a table in a small window next to it and as text.

#include <QDialog>
#include <QString>

#include "engine/report/figure.h"

class QTableWidget;

namespace attnscope::charts {

/// All rows with headings, separated by tabs for spreadsheets.
[[nodiscard]] QString numbers_text(const report::Figure& figure);

/// Not modal; Escape closes it. Ctrl+C copies the whole table.
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
