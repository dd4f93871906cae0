#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Tables of the window: a model of rows, and tables as text for the clipboard and for files.

#include <fmt/format.h>

#include <QAbstractTableModel>
#include <QString>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/drawing/chart_style.h"
#include "app/gui/session/text.h"
#include "engine/report/sheet.h"

namespace attnscope::gui {

/// A table of rows of one type; each column defines what it shows of a row.
///
///   RowsModel<Run> model({{.title = "Name", .text = [](const Run& run) { return run.name; }}});
///   model.set_rows(runs);
template <typename Row>
class RowsModel : public QAbstractTableModel {
 public:
  struct Column {
    QString title = {};
    QString tip = {};  // tool tip of the heading and of every cell
    bool is_number = false;
    std::function<QString(const Row&)> text = {};
  };

  explicit RowsModel(std::vector<Column> columns = {}) : columns_(std::move(columns)) {}

  void set_rows(std::vector<Row> rows) { set_table(columns_, std::move(rows)); }
  void set_table(std::vector<Column> columns, std::vector<Row> rows) {
    beginResetModel();
    columns_ = std::move(columns);
    rows_ = std::move(rows);
    endResetModel();
  }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (role != Qt::DisplayRole) return about(index.column(), role);
    return charts::with_minus(columns_[static_cast<std::size_t>(index.column())].text(
        rows_[static_cast<std::size_t>(index.row())]));
  }
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
      return QAbstractTableModel::headerData(section, orientation, role);
    if (role != Qt::DisplayRole) return about(section, role);
    return columns_[static_cast<std::size_t>(section)].title;
  }

 private:
  [[nodiscard]] QVariant about(int section, int role) const {
    const Column& column = columns_[static_cast<std::size_t>(section)];
    if (role == Qt::ToolTipRole) return column.tip;
    if (role != Qt::TextAlignmentRole) return {};
    return static_cast<int>(Qt::AlignVCenter | (column.is_number ? Qt::AlignRight : Qt::AlignLeft));
  }

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// A number with all its digits and a decimal point, in every locale.
[[nodiscard]] inline std::string number_text(double value) {
  return fmt::format("{:.9g}", value);
}

/// Text for other applications: tabs for spreadsheets in place of the spaces for a terminal.
[[nodiscard]] inline QString clipboard_text(const report::Sheet& sheet,
                                            report::TableFormat format) {
  return qstring(format == report::TableFormat::text ? report::write_tabbed(sheet)
                                                     : report::write_sheet(sheet, format));
}

}  // namespace attnscope::gui
