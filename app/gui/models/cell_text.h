#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A row of the cell table in words and in sortable numbers.

#include <QVariant>

#include "app/gui/models/cell_table_model.h"

namespace attnscope::gui {

[[nodiscard]] QString cell_text(const report::Row& row, CellTableModel::Column column);
[[nodiscard]] QVariant cell_sort_key(const report::Row& row, CellTableModel::Column column);
[[nodiscard]] QString cell_tip(const report::Row& row, CellTableModel::Column column);

}  // namespace attnscope::gui
