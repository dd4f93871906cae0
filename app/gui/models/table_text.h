#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Tables of the window as text, for the clipboard and for files.

#include <QAbstractTableModel>
#include <QString>

#include "engine/report/sheet.h"

namespace attnscope::gui {

/// A number with all its digits and a decimal point, in every locale.
[[nodiscard]] std::string number_text(double value);

/// A model's texts with its row headings in the first column, whose heading is `corner`.
[[nodiscard]] report::Sheet sheet_of(const QAbstractTableModel& model, const QString& corner);

/// Text for other applications: tabs for spreadsheets in place of the spaces for a terminal.
[[nodiscard]] QString clipboard_text(const report::Sheet& sheet, report::TableFormat format);

}  // namespace attnscope::gui
