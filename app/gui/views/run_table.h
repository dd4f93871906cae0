#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table below the charts and its model: the cells of a run along two keys.

#include <QAbstractTableModel>
#include <QWidget>
#include <optional>

#include "app/gui/session/snapshot.h"

class QComboBox;
class QLabel;
class QLayout;
class QPushButton;
class QTableView;

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

/// A run's cells arranged along two keys: a heading row before each block if there are several
/// blocks, the row's head and, for several quantities, the quantity of the line before the cells.
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

class PopupButton;

/// The table below the charts: the run's cells along two keys, selected with a button, each
/// contender with its line and marker of the charts. Copying and saving use the displayed table.
class RunTable : public QWidget {
  Q_OBJECT
 public:
  explicit RunTable(QWidget* parent = nullptr);

  void show_run(const RunPointer& run);

  /// The requested choice, including keys for which the run has only one value.
  [[nodiscard]] report::PivotChoice choice() const { return choice_; }
  [[nodiscard]] QTableView* view() const { return view_; }

  /// Makes the cell the current one.
  void choose_row(std::size_t table_row);
  [[nodiscard]] std::string text(report::TableFormat format) const;

 Q_SIGNALS:
  /// A different choice() is requested.
  void choice_changed();
  void row_chosen(qulonglong table_row);
  /// By Return or a double click, for the row of the last row_chosen().
  void row_opened();
  void save_requested(attnscope::report::TableFormat format);

 private:
  class Delegate;
  QLayout* build_head();
  void wire();
  void show_selectors(const RunSnapshot& run);
  void show_marks(const report::Pivot& pivot);
  void choose_keys(bool rows_changed);
  void fit_columns(bool keeps_widths);

  PivotTableModel model_;
  QComboBox *rows_ = nullptr, *columns_ = nullptr, *cells_ = nullptr;
  PopupButton* choices_ = nullptr;
  QPushButton* save_;
  QLabel* problem_;
  QTableView* view_;
  QLabel* marks_;
  Delegate* delegate_;
  report::PivotChoice choice_;
  bool choosing_ = false;  // choose_row() is changing the current cell
};

}  // namespace attnscope::gui
