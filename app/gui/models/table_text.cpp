// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/table_text.h"

#include <fmt/format.h>

#include "app/gui/session/text.h"

namespace attnscope::gui {

std::string number_text(double value) {
  return fmt::format("{:.9g}", value);
}

report::Sheet sheet_of(const QAbstractTableModel& model, const QString& corner) {
  const auto text = [](const QVariant& value) { return value.toString().toStdString(); };
  report::Sheet sheet{.columns = {{text(corner), text(corner), false}}};
  for (int column = 0; column < model.columnCount(); ++column) {
    const std::string title = text(model.headerData(column, Qt::Horizontal, Qt::DisplayRole));
    sheet.columns.push_back({title, title});
  }
  for (int row = 0; row < model.rowCount(); ++row) {
    std::vector<report::SheetCell> cells{
        text(model.headerData(row, Qt::Vertical, Qt::DisplayRole))};
    for (int column = 0; column < model.columnCount(); ++column)
      cells.emplace_back(text(model.index(row, column).data()));
    sheet.add(std::move(cells));
  }
  return sheet;
}

QString clipboard_text(const report::Sheet& sheet, report::TableFormat format) {
  return words(format == report::TableFormat::text ? report::write_tabbed(sheet)
                                                   : report::write_sheet(sheet, format));
}

}  // namespace attnscope::gui
