#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The selected cells of a table as text that spreadsheets take.

#include <QString>

class QTableView;

namespace attnscope::gui {

/// Lines of fields with tabs between them, in the order shown, under the names of their columns;
/// empty without a selection. Cells of the rectangle that are not selected stay empty.
[[nodiscard]] QString selection_text(const QTableView& table);

/// Ctrl+C in the table copies its selection.
void copy_selection_by_keyboard(QTableView* table);

}  // namespace attnscope::gui
