#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A run's cells set out along two keys: a heading row before each block where there are several,
// the row's head and, with several quantities, what the line is of before the cells.

#include <QAbstractTableModel>
#include <optional>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

/// Beyond what Qt's own roles carry.
enum CellRole {
  style_key_role = Qt::UserRole + 1,  // contender id, bound to the line style of the charts
  cell_status_role,                   // CellStatus as int
  verdict_role,                       // statistics::Verdict as int; invalid: nothing to compare
  baseline_role,                      // whether it is the baseline's own
  table_row_role,                     // the row of report::Table it shows; invalid: none
  heading_role,                       // whether it heads a block
  shade_role,  // of times and memory: from 0, the least at its setting, to 1, many times that
};

class PivotTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// A snapshot whose cells stand in the same places keeps selection and scrolling.
  void set_run(const RunPointer& run);
  [[nodiscard]] const RunPointer& run() const { return run_; }

  [[nodiscard]] bool is_heading(int row) const;
  /// The cell that shows a row of the table; the first where several quantities do.
  [[nodiscard]] QModelIndex index_of(std::size_t table_row) const;
  /// Columns before the cells.
  [[nodiscard]] int label_columns() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Line {
    std::size_t block;
    std::optional<std::size_t> line;  // none: the block's heading
    bool repeats_head = false;        // the line above has the same
  };

  void lay_out();
  [[nodiscard]] const report::Pivot& pivot() const { return run_->pivot; }
  [[nodiscard]] const report::PivotLine& line_at(int row) const;
  [[nodiscard]] QVariant heading_data(int row, int column, int role) const;
  [[nodiscard]] QVariant label_data(int row, int column, int role) const;
  [[nodiscard]] QVariant cell_data(int row, int column, int role) const;
  [[nodiscard]] QVariant shade_of(int row, std::size_t column) const;

  RunPointer run_;
  std::vector<Line> lines_;
};

}  // namespace attnscope::gui
