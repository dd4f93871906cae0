#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the tables of a run tell their delegate and the view, beyond what Qt's own roles carry.

#include <Qt>

namespace attnscope::gui {

enum CellRole {
  style_key_role = Qt::UserRole + 1,  // contender id, bound to the line style of the charts
  cell_status_role,                   // CellStatus as int
  verdict_role,                       // statistics::Verdict as int; invalid: nothing to compare
  baseline_role,                      // whether it is the baseline's own
  table_row_role,                     // the row of report::Table it shows; invalid: none
  heading_role,                       // whether it heads a block
};

}  // namespace attnscope::gui
