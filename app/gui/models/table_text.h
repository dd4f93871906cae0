#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Any model's table as text for the clipboard.

#include <QAbstractTableModel>
#include <QString>

#include "engine/report/table.h"

namespace attnscope::gui {

/// A table's texts as others take them: tab-separated for a spreadsheet, Markdown, CSV, LaTeX with
/// booktabs, or a JSON array of objects. `corner` names the row headings.
[[nodiscard]] QString table_text(const QAbstractTableModel& model, const QString& corner,
                                 report::TableFormat format);

}  // namespace attnscope::gui
