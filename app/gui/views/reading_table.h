#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Read-only tables: they have the same look, Tab moves to the next control, arrows move between
// cells, and the selection is copied as text for spreadsheets.

#include <QTableView>

namespace attnscope::gui {

/// Ctrl+C copies its selection: lines of tab-separated fields, in the order shown, under the names
/// of their columns. Cells of the rectangle that are not selected stay empty.
class ReadingTable : public QTableView {
 public:
  explicit ReadingTable(QWidget* parent = nullptr);
};

/// The height of a table with all its rows, or `most` of them, with its header and a scroll bar.
[[nodiscard]] int height_of_rows(const QTableView& table, int most);

}  // namespace attnscope::gui
