#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A run's cells arranged along two keys: a heading row before each block if there are several
// blocks, the row's head and, for several quantities, the quantity of the line before the cells.

#include <QAbstractTableModel>
#include <optional>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

/// In addition to Qt's own roles.
enum CellRole {
  style_key_role = Qt::UserRole + 1,  // contender id, bound to the line style of the charts
  cell_status_role,                   // CellStatus as int
  verdict_role,                       // statistics::Verdict as int; invalid: no comparison
  baseline_role,                      // whether it belongs to the baseline
  table_row_role,                     // row in report::Table; invalid: none
  heading_role,                       // whether it is a block's heading
  shade_role,  // times and memory: from 0, the least at its setting, to 1, many times the least
};

class PivotTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// A snapshot with the same cells in the same places keeps selection and scroll position.
  void set_run(const RunPointer& run);
  [[nodiscard]] const RunPointer& run() const { return run_; }

  [[nodiscard]] bool is_heading(int row) const;
  /// The cell of a table row; the first one if several quantities show that row.
  [[nodiscard]] QModelIndex index_of(std::size_t table_row) const;
  /// Number of columns before the cells.
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
    bool repeats_head = false;        // the line above has the same head
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
