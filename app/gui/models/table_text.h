#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the window shows as a table, for the clipboard and for files.

#include <QAbstractTableModel>
#include <QString>

#include "engine/report/sheet.h"

namespace attnscope::gui {

/// A number with all its digits, and a decimal point in every locale.
[[nodiscard]] std::string number_text(double value);

/// A model's texts, its row headings in the first column, which `corner` names.
[[nodiscard]] report::Sheet sheet_of(const QAbstractTableModel& model, const QString& corner);

/// As others take it from the clipboard: tabs for a spreadsheet in place of a terminal's blanks.
[[nodiscard]] QString clipboard_text(const report::Sheet& sheet, report::TableFormat format);

}  // namespace attnscope::gui
