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

}  // namespace attnscope::gui
