#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Tables that are read: all look alike, Tab leaves them for the next control and arrows walk their
// cells, and what is selected in them is copied as text that spreadsheets take.

#include <QTableView>

namespace attnscope::gui {

/// Ctrl+C copies its selection: lines of fields with tabs between them, in the order shown, under
/// the names of their columns. Cells of the rectangle that are not selected stay empty.
class ReadingTable : public QTableView {
 public:
  explicit ReadingTable(QWidget* parent = nullptr);
};

/// Of a table that shows all its rows, or `most` of them, with its head and a scroll bar beneath.
[[nodiscard]] int height_of_rows(const QTableView& table, int most);

}  // namespace attnscope::gui
